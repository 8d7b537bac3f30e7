/*
 * fetch of node: does the steps that it reads, a line each, and tells how each
 * ended (test_languages.py).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
    let [method, url, type, name] = line.split("\t");
    // A Blob: of a Buffer nothing is left when a redirect needs it again.
    const file =
        name === "-" ? undefined : new Blob([await readFile(name)]);
    let body = file;
    const headers = type === "-" ? {} : { "content-type": type };
    if (method === "UPLOAD") {
        method = "POST";
        body = new FormData();
        body.append("file", file, "a.bin");
    }
    const answer = await fetch(url, { method, headers, body });
    const got = Buffer.from(await answer.arrayBuffer());
    console.log(answer.status, got.length,
                got.subarray(0, 600).toString("base64"));
}
