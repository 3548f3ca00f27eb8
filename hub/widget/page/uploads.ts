import type { ChatAttachment, maxFileBytes, maxFilesPerMessage } from '../../../shared/contract/chat/shapes.ts';
import { errorOf, HubError, urlOf } from './api.ts';

export const mostFiles: typeof maxFilesPerMessage = 5;
export const mostFileBytes: typeof maxFileBytes = (10 * 1024 * 1024) as typeof maxFileBytes;
/** A name may have so many characters. */
const mostNameLength = 200;

/** A file on its way to the hub, or there and in no message yet. */
export interface Upload {
  key: number;
  name: string;
  bytes: number;
  /** From 0 to 1. */
  progress: number;
  attachment: ChatAttachment | null;
  /** A code of the hub's, or `too_large`; null where all is well. */
  failure: string | null;
}

/** Sends files as they are chosen, a few at once; each can be cancelled. */
export class Uploads {
  readonly #token: () => string;
  readonly #onChange: (uploads: readonly Upload[]) => void;
  readonly #requests = new Map<number, XMLHttpRequest>();
  #uploads: readonly Upload[] = [];
  #nextKey = 1;

  constructor(token: () => string, onChange: (uploads: readonly Upload[]) => void) {
    this.#token = token;
    this.#onChange = onChange;
  }

  /** @returns false if there were more files than a message takes. */
  add(files: readonly File[]): boolean {
    const room = mostFiles - this.#uploads.length;
    for (const file of files.slice(0, Math.max(0, room))) this.#send(file);
    return files.length <= room;
  }

  remove(key: number): void {
    this.#requests.get(key)?.abort();
    this.#requests.delete(key);
    this.#change(this.#uploads.filter((upload) => upload.key !== key));
  }

  /** Those that arrived, for a message that takes them along. */
  take(): ChatAttachment[] {
    const taken = this.#uploads.flatMap(({ attachment }) => (attachment === null ? [] : [attachment]));
    this.#change(this.#uploads.filter(({ attachment }) => attachment === null));
    return taken;
  }

  end(): void {
    for (const request of this.#requests.values()) request.abort();
    this.#requests.clear();
    this.#change([]);
  }

  #send(file: File): void {
    const key = this.#nextKey++;
    const name = Array.from(file.name || 'file')
      .slice(-mostNameLength)
      .join('');
    const upload: Upload = { key, name, bytes: file.size, progress: 0, attachment: null, failure: null };
    this.#change([...this.#uploads, upload]);
    if (file.size > mostFileBytes) {
      this.#set(key, { failure: 'too_large' });
      return;
    }
    // Unlike `fetch`, it tells how much has gone out.
    const request = new XMLHttpRequest();
    this.#requests.set(key, request);
    request.open('POST', `${urlOf('files')}?name=${encodeURIComponent(name)}`);
    request.setRequestHeader('authorization', `Bearer ${this.#token()}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      this.#set(key, { progress: total === 0 ? 0 : loaded / total }),
    );
    request.addEventListener('loadend', () => {
      this.#requests.delete(key);
      const outcome = outcomeOf(request);
      this.#set(key, outcome instanceof HubError ? { failure: outcome.code } : { progress: 1, attachment: outcome });
    });
    request.send(file);
  }

  #set(key: number, change: Partial<Upload>): void {
    if (this.#uploads.some((upload) => upload.key === key))
      this.#change(this.#uploads.map((upload) => (upload.key === key ? { ...upload, ...change } : upload)));
  }

  #change(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    this.#onChange(uploads);
  }
}

function outcomeOf({ status, responseText }: XMLHttpRequest): ChatAttachment | HubError {
  if (status !== 200) return errorOf(status, responseText, null);
  try {
    return JSON.parse(responseText) as ChatAttachment;
  } catch {
    return new HubError(0, 'unreachable', '');
  }
}
