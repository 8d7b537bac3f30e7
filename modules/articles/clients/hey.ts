// The client of @hey-api/openapi-ts.
// SPDX-License-Identifier: BSD-2-Clause

import { Answer, cases } from "../common/cases";
import { client } from "./hey/client.gen";
import * as api from "./hey/sdk.gen";
import { Shape, header, of, query, search, version } from "./mount";

declare const process: { argv: string[]; exit(status: number): never };

client.setConfig({ baseUrl: process.argv[2] });

async function shown<T>(asked: Promise<{
  data?: Shape<T>; error?: unknown; response: Response;
}>): Promise<Answer<T>> {
  const { data, error, response } = await asked;
  return { data: data && of<T>(data), error, response };
}

cases({
  version,
  create: (body, key) => shown(api.createArticle({
    headers: { ...header, "Idempotency-Key": key }, query, body,
  })),
  list: (num, cursor, tag) => shown(api.listArticles({
    headers: { ...header, "If-None-Match": tag },
    query: { ...search, num, cursor },
  })),
  item: (id, tag) => shown(api.getArticle({
    headers: { ...header, "If-None-Match": tag }, path: { id }, query,
  })),
  change: (id, body, tag) => shown(api.changeArticle({
    headers: { ...header, "If-Match": tag }, path: { id }, query, body,
  })),
  replace: (id, body) => shown(api.replaceArticle({
    headers: header, path: { id }, query, body,
  })),
  remove: (id) => api.deleteArticle({ headers: header, path: { id }, query }),
  authors: () => shown(api.listAuthors({ headers: header, query })),
}).catch((e) => { console.error(e); process.exit(1); });
