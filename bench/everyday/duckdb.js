// Runs a schema's queries with DuckDB, in memory: node duckdb.js THREADS WARMUPS REPS DATA QUERIES
//   DATA      has tables.sql (CREATE TABLE) and a CSV file TABLE.csv for each table
//   QUERIES   has files NAME.duckdb
// Prints a line "NAME MS ROWS" for each query: median of the counted runs, from sending to having all rows. A query that fails has
// the times and rows "-", and its message goes to standard error.
const fs = require('fs');
const path = require('path');
const { DuckDBInstance } = require('@duckdb/node-api');

async function run(connection, query, warmups, reps) {
    const times = [];
    let rows = 0;
    for (let i = 0; i < warmups + reps; ++i) {
        const start = process.hrtime.bigint();
        rows = (await connection.runAndReadAll(query)).currentRowCount;
        times.push(Number(process.hrtime.bigint() - start) / 1e6);
    }
    const counted = times.slice(warmups).sort((a, b) => a - b);
    const middle = counted.length >> 1;
    return { ms: counted.length % 2 ? counted[middle] : (counted[middle - 1] + counted[middle]) / 2, rows };
}

async function main([threads, warmups, reps, data, queries]) {
    const connection = await (await DuckDBInstance.create(':memory:', { threads })).connect();
    await connection.run("SET TimeZone = 'UTC'");
    for (const statement of fs.readFileSync(path.join(data, 'tables.sql'), 'utf8').split(';').filter((s) => s.trim()))
        await connection.run(statement);
    for (const file of fs.readdirSync(data).filter((f) => f.endsWith('.csv')))
        await connection.run(`COPY ${path.basename(data)}.${path.basename(file, '.csv')} FROM '${path.join(data, file)}' (HEADER, NULLSTR '')`);
    for (const file of fs.readdirSync(queries).filter((f) => f.endsWith('.duckdb'))) {
        const name = path.basename(file, '.duckdb');
        try {
            const { ms, rows } = await run(connection, fs.readFileSync(path.join(queries, file), 'utf8'), Number(warmups), Number(reps));
            console.log(name, ms.toFixed(3), rows);
        } catch (error) {
            console.error(`DuckDB: ${name}: ${error.message}`);
            console.log(name, '-', '-');
        }
    }
}

main(process.argv.slice(2)).catch((error) => {
    console.error(`DuckDB: ${error.message}`);
    process.exit(2);
});
