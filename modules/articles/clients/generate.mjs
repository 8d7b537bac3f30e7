// Makes clients of all documents: NAME.json becomes NAME/schema.ts
// (openapi-typescript, for openapi-fetch) and NAME/hey/ (@hey-api/openapi-ts).
// SPDX-License-Identifier: BSD-2-Clause

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";

for (const file of readdirSync(".").filter((f) => /^v.*\.json$/.test(f))) {
  const folder = file.replace(/\.json$/, "");
  const document = readFileSync(file, "utf8");
  writeFileSync(`${folder}/schema.ts`,
                astToString(await openapiTS(JSON.parse(document))));
  await createClient({
    input: file,
    output: `${folder}/hey`,
    plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
    logs: { level: "silent" },
  });
}
