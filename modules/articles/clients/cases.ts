// What a client of articles does, whichever generator made it.
// SPDX-License-Identifier: BSD-2-Clause

export interface Article {
  id: number;
  title: string;
  content: string;
  author: { id: number; name: string };
  created_at: string;
}
export interface NewArticle {
  title: string;
  content: string;
  author: { id: number; name?: string };
}
export interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

export interface Client {
  version: string;
  create(body: NewArticle, key?: string): Promise<Answer<Article>>;
  list(num: number, cursor?: string, tag?: string): Promise<Answer<Article[]>>;
  item(id: number, tag?: string): Promise<Answer<Article>>;
  change(id: number, body: { title?: string }, tag?: string):
    Promise<Answer<Article>>;
  replace(id: number, body: NewArticle): Promise<Answer<Article>>;
  remove(id: number): Promise<Answer<unknown>>;
  authors(): Promise<Answer<{ id: number }[]>>;
}

function same(a: unknown, b: unknown, what: string): void {
  if (JSON.stringify(a) !== JSON.stringify(b)) {
    throw new Error(`${what}: ${JSON.stringify(a)}, not ${JSON.stringify(b)}`);
  }
}

// The answer's data, or else its error's status.
function got<T>(c: Client, a: Answer<T>, status: number, what: string): T {
  same([a.response.status, a.error], [status, a.error], what);
  same(a.response.headers.get("api-version"), c.version, `${what}: version`);
  if (status >= 400) {
    same((a.error as { status: number }).status, status, `${what}: error`);
  }
  return a.data as T;
}

async function walk(c: Client, count: number): Promise<void> {
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await c.list(2, cursor);
    const articles = got(c, page, 200, "page");
    seen.push(...articles.map((a) => a.id));
    cursor = page.response.headers.get("x-cursor") ?? undefined;
    same(page.response.headers.has("link"), cursor !== undefined, "link");
  } while (cursor !== undefined);
  same(new Set(seen).size, count, "walk");
}

export async function cases(c: Client): Promise<void> {
  const author = { id: 7, name: "Ada" };
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) {
    const body = { title: `t${i}`, content: "<p>&</p>", author };
    const a = await c.create(body);
    const made = got(c, a, 201, "create");
    same([made.title, made.content, made.author.name],
         [body.title, body.content, "Ada"], "created");
    ids.push(made.id);
    got(c, await c.create(body), 409, "twice");
  }
  got(c, await c.create({ title: "", content: "c", author }), 400, "invalid");
  const kept = { title: "kept", content: "c", author };
  const key = `${Math.random()}`;
  const first = got(c, await c.create(kept, key), 201, "key");
  const again = await c.create(kept, key);
  same(got(c, again, 201, "key again").id, first.id, "replayed");
  await walk(c, 6);

  const item = await c.item(ids[0]);
  same(got(c, item, 200, "item").title, "t0", "item");
  const tag = item.response.headers.get("etag") as string;
  same((await c.item(ids[0], tag)).response.status, 304, "not modified");
  const page = await c.list(2);
  const known = await c.list(2, undefined,
                             page.response.headers.get("etag") as string);
  same(known.response.status, 304, "page not modified");
  same(known.response.headers.get("x-cursor"),
       page.response.headers.get("x-cursor"), "cursor of 304");
  got(c, await c.item(999999), 404, "missing");

  const changed = await c.change(ids[0], { title: "new" }, tag);
  same(got(c, changed, 200, "change").content, "<p>&</p>", "merged");
  got(c, await c.change(ids[0], { title: "newer" }, tag), 412, "stale");
  got(c, await c.change(ids[0], { title: "t1" }), 409, "taken");
  const other = { title: "other", content: "other", author: { id: 8 } };
  same(got(c, await c.replace(ids[0], other), 200, "replace").author.id, 8,
       "replaced");
  same(got(c, await c.authors(), 200, "authors").map((a) => a.id), [7, 8],
       "authors");
  for (const id of [...ids, first.id]) {
    got(c, await c.remove(id), 204, "remove");
    got(c, await c.remove(id), 404, "removed");
  }
  same(got(c, await c.list(10), 200, "empty"), [], "empty");
}
