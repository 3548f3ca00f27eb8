import type { ChatAttachment, maxFileBytes, maxFilesPerMessage } from '../../../shared/contract/chat/shapes.ts';
import { HubError, parseError, urlOf } from './api.ts';

export const maxUploads: typeof maxFilesPerMessage = 5;
export const maxUploadBytes: typeof maxFileBytes = (10 * 1024 * 1024) as typeof maxFileBytes;
/** Maximum length of a file name, in characters. */
const maxNameLength = 200;

/** A file that is being uploaded, or is uploaded and not yet part of a message. */
export interface Upload {
  key: number;
  name: string;
  bytes: number;
  /** From 0 to 1. */
  progress: number;
  attachment: ChatAttachment | null;
  /** An error code of the hub, or `too_large`, `lost` or `left_over`; null for no error. */
  failure: string | null;
  /** The content; null if a reload has lost it. */
  file: File | null;
}

/** Whether the file has not failed and belongs to the next message. */
export const isSendable = ({ failure }: Upload): boolean => failure === null;

/** Whether the file can still be sent, in this conversation or the next one, if its content is available. */
export const canStillBeSent = ({ failure }: Upload): boolean =>
  failure === null || !permanentFailures.includes(failure);

/** Whether uploading the same file again may succeed. */
export const isRetryable = (upload: Upload): boolean =>
  upload.failure !== null && upload.file !== null && canStillBeSent(upload);

const permanentFailures = ['too_large', 'payload_too_large', 'unsupported_media_type'];

/** Uploads files when they are selected. Each upload can be cancelled. */
export class Uploads {
  readonly #token: () => string;
  readonly #onChange: (uploads: readonly Upload[]) => void;
  readonly #requests = new Map<number, XMLHttpRequest>();
  /** Contents of files in messages, by the id from the hub. They are needed again if the message cannot be sent. */
  readonly #sentFiles = new Map<string, File>();
  #uploads: readonly Upload[] = [];
  #nextKey = 1;

  constructor(token: () => string, onChange: (uploads: readonly Upload[]) => void) {
    this.#token = token;
    this.#onChange = onChange;
  }

  /** @returns false if there are more files than a message allows. */
  add(files: readonly File[]): boolean {
    let isWithinLimit = true;
    for (const file of files) {
      const upload = this.#add(file.name || 'file', file.size, file);
      if (file.size > maxUploadBytes) this.#set(upload.key, { failure: 'too_large' });
      else if (this.#count() <= maxUploads) this.#send(upload.key, upload.name, file);
      else {
        isWithinLimit = false;
        this.remove(upload.key);
      }
    }
    return isWithinLimit;
  }

  /** Uploads a failed file again. @returns false if the message already has the maximum number of files. */
  retry(key: number): boolean {
    const upload = this.#uploads.find((candidate) => candidate.key === key);
    if (upload === undefined || !isRetryable(upload) || upload.file === null) return true;
    if (this.#count() >= maxUploads) return false;
    this.#set(key, { failure: null, progress: 0 });
    this.#send(key, upload.name, upload.file);
    return true;
  }

  /** Restores the files of a message that was not sent. */
  restore(attachments: readonly ChatAttachment[]): void {
    for (const { id, name, bytes } of attachments) {
      const file = this.#sentFiles.get(id) ?? null;
      const { key } = this.#add(name, bytes, file);
      this.#set(key, file === null ? { failure: 'lost' } : { progress: 1 });
    }
  }

  /**
   * Uploads the unsent files of another conversation again. A file that cannot be uploaded again is marked as failed.
   */
  carryOver(uploads: readonly Upload[]): void {
    for (const { name, bytes, file } of uploads.filter(canStillBeSent))
      if (file === null || !this.add([file])) this.#set(this.#add(name, bytes, file).key, { failure: 'left_over' });
  }

  remove(key: number): void {
    this.#requests.get(key)?.abort();
    this.#requests.delete(key);
    this.#change(this.#uploads.filter((upload) => upload.key !== key));
  }

  /** Removes the uploaded files from the list and returns them for a message. */
  takeUploaded(): ChatAttachment[] {
    const uploaded = this.#uploads.flatMap(({ attachment, file }) => {
      if (attachment !== null && file !== null) this.#sentFiles.set(attachment.id, file);
      return attachment === null ? [] : [attachment];
    });
    this.#change(this.#uploads.filter(({ attachment }) => attachment === null));
    return uploaded;
  }

  /** Removes files that can never be sent. */
  removeUnsendable(): void {
    this.#change(this.#uploads.filter(canStillBeSent));
  }

  end(): void {
    for (const request of this.#requests.values()) request.abort();
    this.#requests.clear();
    this.#sentFiles.clear();
    this.#change([]);
  }

  #count(): number {
    return this.#uploads.filter(isSendable).length;
  }

  #add(fileName: string, bytes: number, file: File | null): Upload {
    const name = Array.from(fileName).slice(-maxNameLength).join('');
    const upload: Upload = { key: this.#nextKey++, name, bytes, progress: 0, attachment: null, failure: null, file };
    this.#change([...this.#uploads, upload]);
    return upload;
  }

  #send(key: number, name: string, file: File): void {
    // Unlike `fetch`, XMLHttpRequest reports upload progress.
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
      const outcome = parseOutcome(request);
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

function parseOutcome({ status, responseText }: XMLHttpRequest): ChatAttachment | HubError {
  if (status !== 200) return parseError(status, responseText, null);
  try {
    return JSON.parse(responseText) as ChatAttachment;
  } catch {
    return new HubError(0, 'unreachable', '');
  }
}
