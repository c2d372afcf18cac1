#!/usr/bin/env bash
case $1 in --prefix) echo /var/cache/gpuscan/pg-$2;; esac
