import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import type { CommandResult, UploadMetadata } from '../../shared/contract/nodes/command-result.ts';
import type { HubClient } from './hub-client.ts';
import { HubError } from './hub-error.ts';
import type { FinishedCommand, StoredArtifact } from './journal.ts';
import { openOwnFile, readOwnFile, sizeOfOwnFile } from './own-file.ts';

/** Artifacts up to this total size are sent inside the JSON, in bytes. */
const inlineBytes = 256 * 1024;
const jsonTimeoutMs = 40_000;
const formTimeoutMs = 300_000;
/** Time limit without a sent byte, or for the answer after the last byte, in milliseconds. */
const pieceTimeoutMs = 120_000;
/** Target duration of a piece, in milliseconds, so that a retry repeats little and proxies do not time out. */
const pieceMs = 10_000;
const firstPieceBytes = 256 * 1024;
const [minPieceBytes, maxPieceBytes] = [64 * 1024, 8 * 1024 * 1024];
const chunkBytes = 64 * 1024;
/** After so many wrong checksums, a file is not sent again. */
const maxMismatches = 3;

/** State of sending one result, kept between attempts. */
export interface Delivery {
  /** Whether this process or an earlier one made an attempt, so that the hub may have a part. */
  wasTried: boolean;
  pieceBytes: number;
  mismatches: number;
  facts: Map<string, Omit<UploadMetadata, 'offset'>>;
}

/** The initial state. `wasTried` is true when an earlier process made an attempt. */
export const newDelivery = (wasTried: boolean): Delivery => ({
  wasTried,
  pieceBytes: firstPieceBytes,
  mismatches: 0,
  facts: new Map(),
});

/**
 * Sends results. Small artifacts are sent inside the JSON. Larger ones are uploaded before it in pieces, from the
 * offset that the hub has; a hub without piecewise upload gets a form. At most one chunk of a file is in memory.
 */
export class ResultSender {
  readonly #client: HubClient;
  readonly #nodeId: string;
  #takesPieces = true;

  constructor(client: HubClient, nodeId: string) {
    this.#client = client;
    this.#nodeId = nodeId;
  }

  /** Forgets what the hub supports, because another hub may answer next. */
  resetHubFeatures(): void {
    this.#takesPieces = true;
  }

  /**
   * Makes one attempt. `onProgress` is called for every piece that arrived.
   * @param withheld Aborts when the owner no longer lets the result be sent. It ends uploads, but not a request that
   * contains the whole result.
   * @throws HubError, or a signal's reason. The next attempt continues after the pieces that arrived.
   */
  async send(
    finished: FinishedCommand,
    delivery: Delivery,
    { signal, withheld }: { signal: AbortSignal; withheld: AbortSignal },
    onProgress: () => void,
  ): Promise<void> {
    const uploading = AbortSignal.any([signal, withheld]);
    const { result, artifacts } = finished;
    const total = artifacts.reduce((sum, { filePath }) => sum + sizeOfOwnFile(filePath), 0);
    if (total <= inlineBytes) {
      const inline = artifacts.map(({ name, contentType, filePath }) => ({
        name,
        contentType,
        base64: readOwnFile(filePath).toString('base64'),
      }));
      await this.#complete(finished, { ...result, ...(inline.length === 0 ? {} : { artifacts: inline }) }, signal);
      return;
    }
    if (this.#takesPieces) {
      const outcome = await this.#uploadAll(finished, delivery, uploading, onProgress);
      withheld.throwIfAborted();
      // The hub does not need the artifacts of a command that ended. It reports that for the result, too.
      if (outcome !== 'unsupported') {
        await this.#complete(
          finished,
          outcome === 'ended' ? result : { ...result, uploads: artifacts.map(({ name }) => name) },
          signal,
        );
        return;
      }
      this.#takesPieces = false;
    }
    const form = new FormData();
    form.set('result', JSON.stringify(result));
    for (const { name, contentType, filePath } of artifacts)
      form.set(name, await openAsBlob(filePath, { type: contentType }), name);
    await this.#complete(finished, result, uploading, form);
  }

  async #complete(
    { commandId }: FinishedCommand,
    body: CommandResult,
    signal: AbortSignal,
    form?: FormData,
  ): Promise<void> {
    await this.#client.call(
      'completeAutomationNodeCommand',
      { params: { id: this.#nodeId, commandId }, body },
      {
        signal,
        timeoutMs: form === undefined ? jsonTimeoutMs : formTimeoutMs,
        ...(form === undefined ? {} : { form }),
      },
    );
  }

  /** Uploads all artifacts, unless the command ended or the hub does not support piecewise upload. */
  async #uploadAll(
    { commandId, artifacts }: FinishedCommand,
    delivery: Delivery,
    signal: AbortSignal,
    onProgress: () => void,
  ): Promise<'uploaded' | 'ended' | 'unsupported'> {
    try {
      for (const artifact of artifacts) await this.#upload(commandId, artifact, delivery, signal, onProgress);
      return 'uploaded';
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      if (error.isUnknownOperation) return 'unsupported';
      if (error.code === 'command_ended') return 'ended';
      delivery.wasTried = true;
      delivery.pieceBytes = Math.max(minPieceBytes, Math.floor(delivery.pieceBytes / 4));
      if (error.code === 'checksum_mismatch') {
        delivery.mismatches += 1;
        if (delivery.mismatches === maxMismatches)
          throw new HubError(error.status, 'validation_failed', error.message, { body: error.body });
      }
      throw error;
    }
  }

  async #upload(
    commandId: string,
    artifact: StoredArtifact,
    delivery: Delivery,
    signal: AbortSignal,
    onProgress: () => void,
  ): Promise<void> {
    const facts = await factsOf(artifact, delivery);
    const params = { id: this.#nodeId, commandId, name: artifact.name };
    const put = async (offset: number, content?: AsyncIterable<Uint8Array>) =>
      (
        await this.#client.call(
          'uploadAutomationNodeArtifact',
          { params, query: { ...facts, offset } },
          { signal, timeoutMs: pieceTimeoutMs, ...(content === undefined ? {} : { content }) },
        )
      ).body;
    // Without a body the hub answers how many bytes it has.
    let state = delivery.wasTried ? await put(0) : { received: 0, complete: false };
    while (!state.complete) {
      // Hashing and earlier pieces take time. After an abort, the file may be removed.
      signal.throwIfAborted();
      const { received: start } = state;
      const end = Math.min(facts.bytes, start + delivery.pieceBytes);
      const startedAt = performance.now();
      const fd = openOwnFile(artifact.filePath, 'read');
      const source = createReadStream(artifact.filePath, { fd, start, end: end - 1, highWaterMark: chunkBytes });
      // The request reports the error of a removed file. Without a listener, the error would end the process after an
      // abort.
      source.on('error', () => undefined);
      try {
        state = await put(start, source as AsyncIterable<Buffer>);
      } finally {
        source.destroy();
      }
      if (state.received <= start) throw new HubError(0, 'foreign_answer', `The hub took nothing of ${artifact.name}.`);
      onProgress();
      const tookMs = Math.max(1, performance.now() - startedAt);
      delivery.pieceBytes = Math.floor(
        Math.min(maxPieceBytes, delivery.pieceBytes * 4, Math.max(minPieceBytes, ((end - start) * pieceMs) / tookMs)),
      );
    }
  }
}

async function factsOf(
  { name, contentType, filePath }: StoredArtifact,
  { facts }: Delivery,
): Promise<Omit<UploadMetadata, 'offset'>> {
  const cached = facts.get(name);
  if (cached !== undefined) return cached;
  const hash = createHash('sha256');
  const fd = openOwnFile(filePath, 'read');
  for await (const chunk of createReadStream(filePath, { fd }) as AsyncIterable<Buffer>) hash.update(chunk);
  const computed = { bytes: sizeOfOwnFile(filePath), sha256: hash.digest('hex'), contentType };
  facts.set(name, computed);
  return computed;
}
