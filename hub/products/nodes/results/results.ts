import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import { commands as catalog, isCommandType } from '../../../../shared/commands/catalog.ts';
import type { CommandDefinition } from '../../../../shared/commands/define.ts';
import { exitFailure, systemRun } from '../../../../shared/commands/system.ts';
import { maxArtifactBytes, maxArtifacts } from '../../../../shared/contract/nodes/command-result.ts';
import type { CommandResult } from '../../../../shared/contract/nodes/command-result.ts';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import { maxOutputBytes, outputBytesOf } from '../../../engine/index.ts';
import type { Resumption } from '../../../engine/index.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import { ignoreMissing } from '../../../platform/blobs/partial-blobs.ts';
import { isDatabaseUnavailable } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { commitDurably } from '../../../platform/db/transaction.ts';
import { newId } from '../../../platform/ids.ts';
import type { ArtifactQuota } from '../artifacts/index.ts';
import { findVerified, deleteUpload, releaseUploads } from '../artifacts/index.ts';
import { endLockedCommand, isResultOf, lockCommand, readDeviceCommand, unknownCommand } from '../commands/index.ts';
import type { LockedCommand, NodeCommandRow, NodeCommands } from '../commands/index.ts';
import { artifacts } from '../schema.ts';
import type { DeviceIdentity } from '../store.ts';
import { recordLateResult } from './late-result.ts';

/** A file of a multipart body. It is deleted at the end of the request. */
export interface UploadedFile {
  name: string;
  contentType: string;
  bytes: number;
  open(): Readable;
}

/** An artifact whose bytes are still in the request or in an upload. */
interface IncomingArtifact {
  name: string;
  contentType: string;
  /** Bytes that count towards the quota. The bytes of an upload are already reserved. */
  newBytes: number;
  /** The upload that contains it, with the expected checksum. */
  upload?: { id: string; sha256: string };
  content(): Buffer | Readable;
}

export interface CommandResultsDependencies {
  db: Database;
  blobs: Blobs;
  quota: ArtifactQuota;
  commands: Pick<NodeCommands, 'cacheOutcome'>;
  /** Prepares to resume a run of a workspace. */
  resumption: (tenantId: string) => Resumption;
}

type Answer = z.input<typeof resource.completeAutomationNodeCommand.response>;

interface StoredArtifact {
  id: string;
  name: string;
  contentType: string;
  bytes: number;
  sha256: string;
}

/** Records the results of commands once, with their artifacts, and resumes their runs in the same transaction. */
export class CommandResults {
  readonly #deps: CommandResultsDependencies;

  constructor(dependencies: CommandResultsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Records a result. For an ended command it changes nothing, unless the hub ended the command without a result.
   * @param authenticated rejects when the device is not authenticated. Nothing is recorded before it resolves.
   * @throws AppError `not_found` for a command of another device, `validation_failed` for invalid artifacts.
   */
  async complete(
    device: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    files: UploadedFile[],
    authenticated: Promise<unknown> = Promise.resolve(),
  ): Promise<Answer> {
    const { tenantId } = device;
    const found = await this.#readIncoming(device, commandId, result, files);
    if ('ended' in found) return { id: commandId, status: found.ended, recorded: false };
    const { incoming } = found;

    const stored: StoredArtifact[] = [];
    try {
      await this.#store(tenantId, incoming, stored);
      const newBytes = incoming.reduce((sum, artifact) => sum + artifact.newBytes, 0);
      using resumption = this.#deps.resumption(tenantId);
      const recorded = await this.#record(device, commandId, result, { stored, newBytes }, authenticated, resumption);
      if (!recorded.recorded) await this.#discard(tenantId, stored);
      // The result is recorded, so an error is ignored here. The sweep deletes the remaining bytes.
      await Promise.all(recorded.released.map((id) => this.#deps.blobs.partials.delete(id).catch(() => undefined)));
      return { id: commandId, status: recorded.status, recorded: recorded.recorded };
    } catch (error) {
      // After a lost connection the commit may have succeeded. A sweep deletes blobs without an artifact.
      if (!isDatabaseUnavailable(error)) await this.#discard(tenantId, stored);
      throw error;
    }
  }

  /**
   * Returns the final status of a command, or null while it accepts a result. Call it before reading a large result.
   * @throws AppError `not_found`.
   */
  async finalStatus(device: DeviceIdentity, commandId: string): Promise<NodeCommandRow['status'] | null> {
    return (await this.#deps.db.read(device.tenantId, (tx) => readDeviceCommand(tx, device, commandId))).ended;
  }

  /**
   * Returns the artifacts of a result, or the final status of its command. A result without artifacts needs no query
   * here, because its command is checked when the result is recorded.
   */
  async #readIncoming(
    device: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    files: UploadedFile[],
  ): Promise<{ incoming: IncomingArtifact[] } | { ended: NodeCommandRow['status'] }> {
    const hasNoArtifacts =
      result.status === 'failed' || (result.artifacts ?? []).length + (result.uploads ?? []).length === 0;
    if (hasNoArtifacts && files.length === 0) return { incoming: [] };
    const { tenantId } = device;
    return this.#deps.db.read(tenantId, async (tx) => {
      const { ended } = await readDeviceCommand(tx, device, commandId);
      return ended === null
        ? { incoming: await this.#collectIncoming(tx, tenantId, commandId, result, files) }
        : { ended };
    });
  }

  /** Returns the artifacts of a successful result. The artifacts of a failed result are discarded. */
  async #collectIncoming(
    tx: Transaction,
    tenantId: string,
    commandId: string,
    result: CommandResult,
    files: UploadedFile[],
  ): Promise<IncomingArtifact[]> {
    if (result.status === 'failed') return [];
    const inline = (result.artifacts ?? []).map(({ name, contentType, base64 }): IncomingArtifact => {
      const content = Buffer.from(base64, 'base64');
      return { name, contentType, newBytes: content.length, content: () => content };
    });
    const sent = files.map(({ name, contentType, bytes, open }): IncomingArtifact => ({
      name,
      contentType,
      newBytes: bytes,
      content: open,
    }));
    const uploaded = (await findVerified(tx, commandId, result.uploads ?? [])).map(
      ({ id, name, contentType, sha256 }): IncomingArtifact => ({
        name,
        contentType,
        newBytes: 0,
        upload: { id, sha256 },
        content: () => this.#deps.blobs.partials.read(id),
      }),
    );
    const all = [...inline, ...sent, ...uploaded];
    const refuse = (message: string) =>
      new AppError('validation_failed', `body.artifacts ${message}.`, {
        details: [{ path: 'body.artifacts', message }],
      });
    if (all.length > maxArtifacts) throw refuse(`are more than ${maxArtifacts} with those uploaded`);
    if (new Set(all.map(({ name }) => name)).size !== all.length) throw refuse('must have different names');
    const newBytes = all.reduce((sum, artifact) => sum + artifact.newBytes, 0);
    if (newBytes > 0) await this.#deps.quota.assertFree(tx, tenantId, newBytes);
    return all;
  }

  async #store(tenantId: string, incoming: IncomingArtifact[], stored: StoredArtifact[]): Promise<void> {
    for (const { name, contentType, upload, content } of incoming) {
      const id = newId();
      const put = this.#deps.blobs.put(`${tenantId}/${id}`, content(), { maxBytes: maxArtifactBytes });
      const found = upload === undefined ? await put : await put.catch(ignoreMissing);
      if (found !== undefined) stored.push({ id, name, contentType, ...found });
      if (upload !== undefined && found?.sha256 !== upload.sha256)
        throw await this.#dropUpload(tenantId, upload.id, name);
    }
  }

  /** Deletes an upload whose bytes are missing or changed, so that the device uploads the artifact again. */
  async #dropUpload(tenantId: string, uploadId: string, name: string): Promise<AppError> {
    await this.#deps.db.workspace(tenantId, (tx) => deleteUpload(tx, uploadId));
    await this.#deps.blobs.partials.delete(uploadId);
    return new AppError('checksum_mismatch', `The uploaded bytes of ${name} are missing or damaged; upload it again.`);
  }

  async #discard(tenantId: string, stored: StoredArtifact[]): Promise<void> {
    await Promise.all(stored.map(({ id }) => this.#deps.blobs.delete(`${tenantId}/${id}`).catch(() => undefined)));
  }

  async #record(
    { tenantId, nodeId }: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    { stored, newBytes }: { stored: StoredArtifact[]; newBytes: number },
    authenticated: Promise<unknown>,
    resumption: Resumption,
  ): Promise<RecordedResult> {
    const record = async (tx: Transaction): Promise<RecordedResult> => {
      const [row] = await Promise.all([lockCommand(tx, nodeId, commandId), authenticated]);
      const isOpen = row?.status === 'pending' || row?.status === 'leased';
      if (row === null || !isResultOf(row)) throw unknownCommand(commandId);
      if (!isOpen && !row.overdue) return { status: row.status, recorded: false, released: [] };
      // A late result can resume a run that users saw fail, so the commit must be durable.
      if (!isOpen) await commitDurably(tx);
      const outcome = evaluate(row, result, stored);
      if (stored.length > 0) {
        if (newBytes > 0) {
          // Other results may have used the quota while the bytes were written.
          await this.#deps.quota.lock(tx, tenantId);
          await this.#deps.quota.assertFree(tx, tenantId, newBytes);
        }
        await tx
          .insert(artifacts)
          .values(stored.map((artifact) => ({ ...artifact, tenantId, nodeId, runId: row.runId, commandId })));
      }
      const status = outcome.error === undefined ? 'succeeded' : 'failed';
      const isLast = !row.hasUploads;
      if (isOpen) {
        const ended = await endLockedCommand(tx, row, { status, outcome, isLast }, resumption);
        tx.onCommit(() => {
          // The run reads the outcome, so it is cached first.
          this.#deps.commands.cacheOutcome(tenantId, commandId, ended);
          resumption.begin();
        });
      } else await recordLateResult(tx, row, status, outcome);
      const released = row.hasUploads ? await releaseUploads(tx, commandId) : [];
      return { status, recorded: true, released };
    };
    return this.#deps.db.workspace(tenantId, record, { durable: false });
  }
}

/** The outcome of recording a result. */
interface RecordedResult {
  status: NodeCommandRow['status'];
  recorded: boolean;
  /** Ids of the uploads whose bytes must be deleted. */
  released: string[];
}

/** Validates a result. A success counts only if its output matches the schema of the command and its artifacts. */
function evaluate(
  row: LockedCommand,
  result: CommandResult,
  stored: StoredArtifact[],
): { output?: JsonValue; error?: { code: string; message: string } } {
  if (result.status === 'failed')
    return { error: result.error ?? { code: 'failed', message: 'The node gave no reason.' } };
  if (!isCommandType(row.type))
    return { error: { code: 'unknown_command', message: 'This hub no longer supports the command.' } };
  const command = catalog[row.type] as CommandDefinition;
  const reply = command.reply.safeParse(result.output);
  const invalid = (message: string) => ({
    error: { code: 'invalid_reply', message: `The output does not match the schema of ${row.type}: ${message}` },
  });
  if (!reply.success)
    return invalid(
      reply.error.issues
        .map((issue) => `${issue.path.join('.') || 'output'} ${schemaMessage(issue)}`)
        .join('; ')
        .slice(0, 1000),
    );
  let output = toStorableJson(reply.data);
  if (isObject(output) && typeof output['artifact'] === 'string') {
    const { artifact: name, ...rest } = output;
    const artifact = stored.find((candidate) => candidate.name === name);
    if (artifact === undefined) return invalid(`the artifact ${String(name)} was not sent`);
    if (typeof rest['bytes'] === 'number' && rest['bytes'] !== artifact.bytes)
      return invalid(`the artifact has ${artifact.bytes} bytes instead of ${rest['bytes']}`);
    if (typeof rest['sha256'] === 'string' && rest['sha256'] !== artifact.sha256)
      return invalid('the checksum of the artifact differs');
    output = { artifactId: artifact.id, ...rest };
  } else if (isObject(output) && typeof output['sha256'] === 'string' && typeof output['content'] === 'string') {
    const content = Buffer.from(output['content'], output['encoding'] === 'base64' ? 'base64' : 'utf8');
    if (createHash('sha256').update(content).digest('hex') !== output['sha256'])
      return invalid('the checksum of the content differs');
  }
  if (isObject(output) && Array.isArray(output['downloads'])) {
    const downloads = output['downloads'].map((download) => {
      if (!isObject(download) || typeof download['artifact'] !== 'string') return download;
      const { artifact: name, ...rest } = download;
      const artifact = stored.find((candidate) => candidate.name === name && candidate.bytes === rest['bytes']);
      return artifact === undefined ? null : { artifactId: artifact.id, ...rest };
    });
    if (downloads.includes(null)) return invalid('a download was not sent completely');
    output = { ...output, downloads };
  }
  if (row.type === 'node.ping' && isObject(output))
    output = { ...output, latencyMs: Math.max(0, Math.round(row.elapsedMs * 1000) / 1000) };
  const outputBytes = outputBytesOf(output, null);
  if (outputBytes > maxOutputBytes) {
    const message = `The output of ${row.type} has ${outputBytes} bytes; the limit is ${maxOutputBytes}.`;
    return { error: { code: 'output_too_large', message } };
  }
  if (row.type === systemRun.type && !row.acceptsExitCode) {
    const error = exitFailure(systemRun.output.parse(output));
    if (error !== null) return { output, error };
  }
  return { output };
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
