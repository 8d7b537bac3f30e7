/*
 * axios: does the steps that it reads, a line each, with one agent, and tells
 * how each ended (test_languages.py).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
const { readFileSync } = require("node:fs");
const { Agent } = require("node:http");
const { createInterface } = require("node:readline");
const { createRequire } = require("node:module");

// Its packages lie elsewhere, in the folder that is the first argument.
const axios = createRequire(process.argv[2] + "/")("axios");

async function main() {
    const httpAgent = new Agent({ keepAlive: true });
    for await (const line of createInterface({ input: process.stdin })) {
        let [method, url, type, name] = line.split("\t");
        const file = name === "-" ? undefined : readFileSync(name);
        let data = file;
        const headers = type === "-" ? {} : { "Content-Type": type };
        if (method === "UPLOAD") {
            method = "POST";
            data = new FormData();
            data.append("file", new Blob([file]), "a.bin");
        }
        const answer = await axios({
            method, url, data, headers, httpAgent,
            responseType: "arraybuffer", validateStatus: () => true,
        });
        const got = Buffer.from(answer.data);
        console.log(answer.status, got.length,
                    got.subarray(0, 600).toString("base64"));
    }
}

main();
