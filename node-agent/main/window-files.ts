import { readdirSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** The scheme of the pages of the app. The app shows no other pages. */
export const windowScheme = 'outrigger-app';
export const windowHost = 'window';
export const windowAddress = `${windowScheme}://${windowHost}/`;
/** An empty page without scripts, in which the app captures. */
export const recorderHost = 'recorder';
export const recorderAddress = `${windowScheme}://${recorderHost}/`;

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const policy = (directives: readonly string[]) =>
  [
    "default-src 'none'",
    ...directives,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

const headersOf = (contentSecurityPolicy: string) => ({
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
});

/** Headers of every file of the window. */
export const windowHeaders = headersOf(
  policy(["script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:", "font-src 'self'"]),
);
export const recorderHeaders = headersOf(policy([]));

export interface ServedFile {
  path: string;
  contentType: string;
}

/** Whether an address belongs to the window. */
export function isWindowAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, host, username, password } = new URL(address);
  return protocol === `${windowScheme}:` && host === windowHost && `${username}${password}` === '';
}

/** The files of the window, listed once at the start. Only listed files are served. */
export class WindowFiles {
  readonly #files = new Map<string, ServedFile>();

  constructor(folder: string) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const contentType = contentTypes[extname(entry.name)];
      if (!entry.isFile() || contentType === undefined) continue;
      const path = join(entry.parentPath, entry.name);
      this.#files.set(`/${relative(folder, path).split(sep).join('/')}`, { path, contentType });
    }
  }

  /** The file for an address. Null if it is not served. */
  find(address: string): ServedFile | null {
    if (!isWindowAddress(address)) return null;
    const { pathname } = new URL(address);
    return this.#files.get(pathname === '/' || pathname === '' ? '/index.html' : pathname) ?? null;
  }
}
