#!/usr/bin/env bash
# The capacities in the source: every integer constant of the engine, the CUDA device and the server's side that has a value from
# 2 to 2^31, by name. So a new one is tested without anybody thinking of it.
# Usage: test/boundary/capacities.sh            "VALUE NAME FILE", a line each
#        test/boundary/capacities.sh boundaries MOST   what test/boundary/run.sh tries: n - 1, n and n + 1 of each, no more than MOST
set -euo pipefail
cd "$(dirname "$0")/../.."

# Every "constexpr TYPE NAME = EXPRESSION[, NAME = EXPRESSION...];", on one line or more. Casts, suffixes and namespaces are taken off,
# names of other constants put in their places, and what is left is numbers to be computed. (perl-base is on every Debian.)
list() {
    find src -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cuh' | sort | xargs perl -0777 -ne '
        BEGIN { %value = (BLCKSZ => 8192, SizeOfPageHeaderData => 24) }
        s{//[^\n]*}{}g;
        while (/\bconstexpr\s+((?:static\s+|const\s+)*[a-zA-Z_][\w:]*(?:\s+(?:int|long|char))*)\s+([a-z_]\w*\s*=[^;"{]+);/g) {
            my ($type, $all) = ($1, $2);
            next if $type =~ /bool|char\b|auto/; # (a limit may be a double)
            $all =~ s{static_cast<[^<>]*>|\b(?:[a-z_]+::)+|(?<=[0-9])\x27(?=[0-9])|\b(?:size_t|u?int[0-9]*_t|u?int\d+|int128|u128|i128|int|unsigned|long|Index|Size|MAXALIGN|INT64CONST)(?=\()}{}g;
            $all =~ s{\b(0x[0-9a-fA-F]+|[0-9]+)[uUlL]+\b}{$1}g;
            my $depth = 0;
            my $text = "";
            for my $char (split //, "$all,") { # a comma between parentheses separates nothing
                $depth += ($char eq "(") - ($char eq ")");
                if ($char eq "," && $depth == 0) {
                    push @found, [$1, $2, $ARGV] if $text =~ /^\s*(\w+)\s*=\s*(.*?)\s*$/s;
                    $text = "";
                } else {
                    $text .= $char;
                }
            }
        }
        END {
            # A name may stand for another value in another file.
            for my $one (@found) { $expression{$one->[0]}{$one->[2]} //= $one->[1] }
            for my $one (@found) {
                my ($name, $text, $file) = @$one;
                for (1 .. 6) {
                    $text =~ s{\b([A-Za-z_]\w*)\b}{
                        my $of = $expression{$1};
                        my $new = $value{$1} // ($of ? $of->{$file} // (values %$of)[0] : undef);
                        defined $new ? "($new)" : $1
                    }ge;
                }
                next unless $text =~ m{^[0-9a-fA-Fx\s()+*/%<>-]+$} && $text !~ /[a-wyzA-Z]\w*\(/;
                my $number = eval "use integer; $text";
                print "$number $name $file\n" if defined $number && $number >= 2 && $number <= 1 << 31;
            }
        }' | sort -n -k1,1 -k2,2 -k3,3
}

case ${1:-list} in
    list) list ;;
    boundaries)
        {
            list | cut -d' ' -f1
            for ((power = 2; power <= 1 << 30; power *= 2)); do # widths of codes, of packed values, and of every table that doubles
                echo $power
            done
            for ((entries = 256, all = 256; all <= 1 << 20; entries *= 2, all += entries)); do # blocks that double, all full
                echo $all
            done
        } | awk -v most="$2" '{ for (i = -1; i <= 1; i++) if ($1 + i <= most) print $1 + i }' | sort -nu
        ;;
esac
