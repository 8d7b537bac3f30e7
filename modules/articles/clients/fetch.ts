// The client of openapi-typescript and openapi-fetch.
// SPDX-License-Identifier: BSD-2-Clause

import createClient from "openapi-fetch";
import { Answer, cases } from "../common/cases";
import { Shape, header, of, query, search, version } from "./mount";
import type { paths } from "./schema";

declare const process: { argv: string[]; exit(status: number): never };

const client = createClient<paths>({ baseUrl: process.argv[2] });

async function shown<T>(asked: Promise<{
  data?: Shape<T>; error?: unknown; response: Response;
}>): Promise<Answer<T>> {
  const { data, error, response } = await asked;
  return { data: data && of<T>(data), error, response };
}

cases({
  version,
  create: (body, key) => shown(client.POST("/articles", {
    params: { header: { ...header, "Idempotency-Key": key }, query }, body,
  })),
  list: (num, cursor, tag) => shown(client.GET("/articles", {
    params: { header: { ...header, "If-None-Match": tag },
              query: { ...search, num, cursor } },
  })),
  item: (id, tag) => shown(client.GET("/articles/{id}", {
    params: { header: { ...header, "If-None-Match": tag }, path: { id },
              query },
  })),
  change: (id, body, tag) => shown(client.PATCH("/articles/{id}", {
    params: { header: { ...header, "If-Match": tag }, path: { id }, query },
    body,
  })),
  replace: (id, body) => shown(client.PUT("/articles/{id}", {
    params: { header, path: { id }, query }, body,
  })),
  remove: (id) => client.DELETE("/articles/{id}", {
    params: { header, path: { id }, query },
  }),
  authors: () => shown(client.GET("/authors", { params: { header, query } })),
}).catch((e) => { console.error(e); process.exit(1); });
