// A client cannot leave out what names the version: that does not compile.
// SPDX-License-Identifier: BSD-2-Clause

import createClient from "openapi-fetch";
import * as api from "./hey/sdk.gen";
import type { paths } from "./schema";

export function notCalled() {
  const client = createClient<paths>({ baseUrl: "" });
  // @ts-expect-error: the version has to be named
  client.GET("/articles", { params: { query: { num: 2 } } });
  // @ts-expect-error: the same
  api.listArticles({ query: { num: 2 } });
}
