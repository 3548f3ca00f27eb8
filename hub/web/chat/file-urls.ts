import { sendRequest } from './api.ts';

/**
 * Downloads the files of the conversation and provides them as object URLs. The hub requires the session's token for
 * each file, and the URL in an `img` element cannot send it.
 */
export class FileUrls {
  readonly #token: () => string;
  readonly #urls = new Map<string, Promise<string>>();

  constructor(token: () => string) {
    this.#token = token;
  }

  /** @throws HubError */
  url(id: string): Promise<string> {
    const existing = this.#urls.get(id);
    if (existing !== undefined) return existing;
    const loading = sendRequest(`files/${encodeURIComponent(id)}`, { token: this.#token() }).then(async (response) =>
      URL.createObjectURL(await response.blob()),
    );
    this.#urls.set(id, loading);
    loading.catch(() => this.#urls.delete(id));
    return loading;
  }

  /** Saves a file on the visitor's device. @throws HubError */
  async save(id: string, name: string): Promise<void> {
    const link = document.createElement('a');
    link.href = await this.url(id);
    link.download = name;
    link.click();
  }

  end(): void {
    for (const url of this.#urls.values()) url.then(URL.revokeObjectURL, () => undefined);
    this.#urls.clear();
  }
}
