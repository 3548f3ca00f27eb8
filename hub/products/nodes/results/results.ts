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
import { toStorableJson } from '../../../../shared/json.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import { maxOutputBytes, outputBytesOf } from '../../../engine/index.ts';
import type { CommandOutcome, PromisedJob, Resumption } from '../../../engine/index.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import { ignoreMissing } from '../../../platform/blobs/partial-blobs.ts';
import { isDatabaseUnavailable } from '../../../platform/db/database.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { commitDurably } from '../../../platform/db/transaction.ts';
import { newId } from '../../../platform/ids.ts';
import type { ArtifactQuota } from '../artifacts/index.ts';
import { findVerified, deleteUpload, releaseUploads } from '../artifacts/index.ts';
import { endLocked, isResultOf, lockCommand, readDeviceCommand, unknownCommand } from '../commands/index.ts';
import type { LockedCommand, NodeCommandRow, NodeCommands } from '../commands/index.ts';
import { artifacts } from '../schema.ts';
import type { DeviceIdentity } from '../store.ts';
import { takeLateResult } from './late-result.ts';

/** An artefact that came as a part of a multipart body, and is removed with its request. */
export interface UploadedFile {
  name: string;
  contentType: string;
  bytes: number;
  open(): Readable;
}

/** An artefact before it is one: its bytes still lie with the request or in an upload. */
interface IncomingArtifact {
  name: string;
  contentType: string;
  /** Room that it takes and that was not taken before. */
  newBytes: number;
  /** The upload that it comes from, and what was uploaded. */
  upload?: { id: string; sha256: string };
  content(): Buffer | Readable;
}

export interface CommandResultsDependencies {
  db: Database;
  blobs: Blobs;
  quota: ArtifactQuota;
  commands: Pick<NodeCommands, 'remember'>;
  dispatch: (jobs: PromisedJob[]) => void;
  /** Prepares for a run of a workspace to go on. */
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

/**
 * Results that devices report: each recorded once, with its artefacts, and its run woken in the same transaction.
 */
export class CommandResults {
  readonly #deps: CommandResultsDependencies;

  constructor(dependencies: CommandResultsDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Records a result; one for a command that has ended changes nothing, unless it ended for want of just this result.
   * @param confirmed settles once it is known whether the device is who it says; nothing is recorded before.
   * @throws AppError `not_found` for a command that is not this device's, `validation_failed` for artefacts that are not usable.
   */
  async complete(
    device: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    files: UploadedFile[],
    confirmed: Promise<unknown> = Promise.resolve(),
  ): Promise<Answer> {
    const { tenantId } = device;
    const brought = await this.#lookAtBrought(device, commandId, result, files);
    if ('ended' in brought) return { id: commandId, status: brought.ended, recorded: false };
    const { incoming } = brought;

    const stored: StoredArtifact[] = [];
    try {
      await this.#store(tenantId, incoming, stored);
      const newBytes = incoming.reduce((sum, artifact) => sum + artifact.newBytes, 0);
      using resumption = this.#deps.resumption(tenantId);
      const recorded = await this.#record(device, commandId, result, { stored, newBytes }, confirmed, resumption);
      if (!recorded.recorded) await this.#discard(tenantId, stored);
      if (recorded.ended !== undefined) {
        this.#deps.commands.remember(tenantId, commandId, recorded.ended);
        resumption.begin();
      }
      this.#deps.dispatch(recorded.jobs);
      // The result stands whatever becomes of these; those that can't be removed now are swept.
      await Promise.all(recorded.released.map((id) => this.#deps.blobs.partials.delete(id).catch(() => undefined)));
      return { id: commandId, status: recorded.status, recorded: recorded.recorded };
    } catch (error) {
      // Whether a connection broke before the commit or after it nobody knows; bytes that no artefact names are swept.
      if (!isDatabaseUnavailable(error)) await this.#discard(tenantId, stored);
      throw error;
    }
  }

  /**
   * How a command of this device ended, or null while its result is wanted: to be asked before a large result is read.
   * @throws AppError `not_found`.
   */
  async finalStatus(device: DeviceIdentity, commandId: string): Promise<NodeCommandRow['status'] | null> {
    return (await this.#deps.db.read(device.tenantId, (tx) => readDeviceCommand(tx, device, commandId))).ended;
  }

  /** What a result brings along, or how its command ended before: most bring nothing, and are looked at only as they are recorded. */
  async #lookAtBrought(
    device: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    files: UploadedFile[],
  ): Promise<{ incoming: IncomingArtifact[] } | { ended: NodeCommandRow['status'] }> {
    const bringsNothing =
      result.status === 'failed' || (result.artifacts ?? []).length + (result.uploads ?? []).length === 0;
    if (bringsNothing && files.length === 0) return { incoming: [] };
    const { tenantId } = device;
    return this.#deps.db.read(tenantId, async (tx) => {
      const { ended } = await readDeviceCommand(tx, device, commandId);
      return ended === null ? { incoming: await this.#incoming(tx, tenantId, commandId, result, files) } : { ended };
    });
  }

  /** What a result brings along; nothing for a failure, which nobody looks at. */
  async #incoming(
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
        throw await this.#uploadLost(tenantId, upload.id, name);
    }
  }

  /** Lets the device begin anew with an artefact of which something else is here than what it uploaded. */
  async #uploadLost(tenantId: string, uploadId: string, name: string): Promise<AppError> {
    await this.#deps.db.workspace(tenantId, (tx) => deleteUpload(tx, uploadId));
    await this.#deps.blobs.partials.delete(uploadId);
    return new AppError('checksum_mismatch', `What was uploaded of ${name} is not here any more; upload it again.`);
  }

  async #discard(tenantId: string, stored: StoredArtifact[]): Promise<void> {
    await Promise.all(stored.map(({ id }) => this.#deps.blobs.delete(`${tenantId}/${id}`).catch(() => undefined)));
  }

  async #record(
    { tenantId, nodeId }: DeviceIdentity,
    commandId: string,
    result: CommandResult,
    { stored, newBytes }: { stored: StoredArtifact[]; newBytes: number },
    confirmed: Promise<unknown>,
    resumption: Resumption,
  ): Promise<Recorded> {
    const record = async (tx: Transaction): Promise<Recorded> => {
      const [row] = await Promise.all([lockCommand(tx, nodeId, commandId), confirmed]);
      const isOpen = row?.status === 'pending' || row?.status === 'leased';
      if (row === null || !isResultOf(row)) throw unknownCommand(commandId);
      if (!isOpen && !row.overdue) return { status: row.status, recorded: false, jobs: [], released: [] };
      // What comes late lets a run go on that people saw fail.
      if (!isOpen) await commitDurably(tx);
      const outcome = judge(row, result, stored);
      if (stored.length > 0) {
        if (newBytes > 0) {
          // Others may have taken the room while the bytes were written.
          await this.#deps.quota.lock(tx, tenantId);
          await this.#deps.quota.assertFree(tx, tenantId, newBytes);
        }
        await tx
          .insert(artifacts)
          .values(stored.map((artifact) => ({ ...artifact, tenantId, nodeId, runId: row.runId, commandId })));
      }
      const status = outcome.error === undefined ? 'succeeded' : 'failed';
      const isLast = !row.hasUploads;
      const written = isOpen
        ? { jobs: [], ended: await endLocked(tx, row, { status, outcome, isLast }, resumption) }
        : { jobs: await takeLateResult(tx, row, status, outcome) };
      const released = row.hasUploads ? await releaseUploads(tx, commandId) : [];
      return { status, recorded: true, released, ...written };
    };
    return this.#deps.db.workspace(tenantId, record, { durable: false });
  }
}

/** What became of a result. */
interface Recorded {
  status: NodeCommandRow['status'];
  recorded: boolean;
  jobs: PromisedJob[];
  /** Uploads whose bytes are to be deleted. */
  released: string[];
  /** How the command now stands, if its run waited for it. */
  ended?: CommandOutcome;
}

/** Decides what a device's word is worth: a success counts only when its output is what the command promises. */
function judge(
  row: LockedCommand,
  result: CommandResult,
  stored: StoredArtifact[],
): { output?: JsonValue; error?: { code: string; message: string } } {
  if (result.status === 'failed')
    return { error: result.error ?? { code: 'failed', message: 'The node gave no reason.' } };
  if (!isCommandType(row.type))
    return { error: { code: 'unknown_command', message: 'This hub does not know the command any more.' } };
  const command = catalog[row.type] as CommandDefinition;
  const reply = command.reply.safeParse(result.output);
  const invalid = (message: string) => ({
    error: { code: 'invalid_reply', message: `The node answered something else than ${row.type} promises: ${message}` },
  });
  if (!reply.success)
    return invalid(
      reply.error.issues
        .map((issue) => `${issue.path.join('.') || 'output'} ${issue.message}`)
        .join('; ')
        .slice(0, 1000),
    );
  let output = toStorableJson(reply.data);
  if (isObject(output) && typeof output['artifact'] === 'string') {
    const { artifact: name, ...rest } = output;
    const artifact = stored.find((candidate) => candidate.name === name);
    if (artifact === undefined) return invalid(`it names the artefact ${String(name)} and did not send it`);
    if (typeof rest['bytes'] === 'number' && rest['bytes'] !== artifact.bytes)
      return invalid(`it announced ${rest['bytes']} bytes and sent ${artifact.bytes}`);
    if (typeof rest['sha256'] === 'string' && rest['sha256'] !== artifact.sha256)
      return invalid('the checksum of the artefact differs');
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
    if (downloads.includes(null)) return invalid('it names a download and did not send it whole');
    output = { ...output, downloads };
  }
  if (row.type === 'node.ping' && isObject(output))
    output = { ...output, latencyMs: Math.max(0, Math.round(row.elapsedMs * 1000) / 1000) };
  const outputBytes = outputBytesOf(output, null);
  if (outputBytes > maxOutputBytes) {
    const message = `The output of ${row.type} takes up ${outputBytes} bytes; ${maxOutputBytes} is the most.`;
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
