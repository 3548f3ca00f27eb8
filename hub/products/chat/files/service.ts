import type { Readable } from 'node:stream';
import { maxFileBytes } from '../../../../shared/contract/chat/shapes.ts';
import type { ChatAttachment } from '../../../../shared/contract/chat/shapes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { VisitorIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import type { FileBlobs } from './file-blobs.ts';
import { plainName } from './file-name.ts';
import type { FileScanner } from './file-scanner.ts';

/** Uploaded files of one conversation that are in no message yet. */
const maxUnattached = 50;
const mib = 1024 * 1024;
/**
 * Quota of one visitor: a number of files, and a share of the workspace quota between `leastBytes` and `bytes`.
 * The file limit keeps the sum of the sizes cheap.
 */
const visitorQuota = { files: 2_000, share: 0.05, bytes: 1024 * mib, leastBytes: 5 * maxFileBytes };
/** Visitors may use this share of the workspace quota. The rest is reserved for agents. */
const visitorShare = 0.9;

export interface ChatFilesDependencies {
  db: Database;
  blobs: Blobs;
  fileBlobs: FileBlobs;
  scanner: FileScanner;
  /** File quota of one workspace. */
  maxWorkspaceBytes: number;
}

/** The sender of a file, and its conversation. */
export interface FileSender {
  tenantId: string;
  conversationId: string;
  /** `visitor:<id>` or `user:<id>`. */
  sentBy: string;
}

export interface StoredFile {
  name: string;
  contentType: string;
  bytes: number;
  open(): Promise<Readable>;
}

interface FileRow {
  name: string;
  content_type: string;
  bytes: number;
  blob_key: string;
}

/** Files of conversations. */
export class ChatFiles {
  readonly #deps: ChatFilesDependencies;

  constructor(dependencies: ChatFilesDependencies) {
    this.#deps = dependencies;
  }

  /**
   * Checks that a file may be uploaded, before its body is read.
   * @throws AppError `not_found`, `conversation_closed` for a visitor, `storage_full`.
   */
  async admit(sender: FileSender): Promise<void> {
    await this.#deps.db.read(sender.tenantId, (tx) => this.#assertQuota(tx, sender, 1));
  }

  /**
   * Stores a file for a later message.
   * @param recheck rejects a sender who lost access during the upload.
   * @throws AppError `unsupported_media_type`, `not_found`, `conversation_closed` for a visitor, `storage_full`,
   * `unavailable`.
   */
  async keep(
    sender: FileSender,
    givenName: string,
    given: Buffer,
    { signal, recheck }: { signal: AbortSignal; recheck: () => Promise<unknown> },
  ): Promise<ChatAttachment> {
    const { db, fileBlobs, scanner } = this.#deps;
    const { tenantId, conversationId, sentBy } = sender;
    const { contentType, extensions, bytes } = await scanner.scan(given, signal);
    const id = newId();
    const key = `${tenantId}/${id}`;
    const name = plainName(givenName, extensions);
    await fileBlobs.write(tenantId, key, bytes);
    try {
      await recheck();
      await db.workspace(tenantId, async (tx) => {
        // Concurrent uploads must not exceed the quota together.
        await tx.query(
          'lock_chat_file_usage',
          `SELECT pg_advisory_xact_lock(hashtextextended('chat file room ' || $1, 0))`,
          [tenantId],
        );
        await this.#assertQuota(tx, sender, bytes.length);
        await fileBlobs.keep(tx, key);
        await tx.query(
          'write_chat_file',
          `INSERT INTO chat_files (id, tenant_id, conversation_id, sent_by, name, content_type, bytes, blob_key)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
          [id, tenantId, conversationId, sentBy, name, contentType, bytes.length, key],
        );
      });
    } catch (error) {
      // The sweep deletes the bytes soon. If this call fails too, the sweep deletes them later.
      await fileBlobs.giveUp(tenantId, key).catch(() => undefined);
      throw error;
    }
    return { id, name, contentType, bytes: bytes.length };
  }

  /** A file of the workspace, for its agents. @throws AppError `not_found`. */
  async find(tenantId: string, id: string): Promise<StoredFile> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<FileRow>(
        'find_chat_file',
        'SELECT name, content_type, bytes, blob_key FROM chat_files WHERE id = $1 AND tenant_id = $2',
        [id, tenantId],
      ),
    );
    return this.#present(id, rows[0]);
  }

  /**
   * A file that a visitor may see: of a message of their conversation, which a note is not, or their own.
   * @throws AppError `not_found`.
   */
  async findForVisitor({ tenantId, conversationId, visitorId }: VisitorIdentity, id: string): Promise<StoredFile> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<FileRow>(
        'find_chat_file_of_visitor',
        `SELECT f.name, f.content_type, f.bytes, f.blob_key FROM chat_files f LEFT JOIN chat_messages m ON m.id = f.message_id
         WHERE f.id = $1 AND f.conversation_id = $2 AND (m.seq IS NOT NULL OR f.sent_by = $3)`,
        [id, conversationId, `visitor:${visitorId}`],
      ),
    );
    return this.#present(id, rows[0]);
  }

  #present(id: string, row: FileRow | undefined): StoredFile {
    if (row === undefined) throw notFound('file', id);
    return {
      name: row.name,
      contentType: row.content_type,
      bytes: row.bytes,
      open: () => this.#deps.blobs.open(row.blob_key),
    };
  }

  async #assertQuota(tx: Transaction, { tenantId, conversationId, sentBy }: FileSender, bytes: number): Promise<void> {
    const { maxWorkspaceBytes } = this.#deps;
    const isVisitor = sentBy.startsWith('visitor:');
    const { rows } = await tx.query<{ status: string; loose: number; used: string; own_files: number; own: string }>(
      'read_chat_file_quota',
      `WITH own AS (SELECT bytes FROM chat_files WHERE tenant_id = $2 AND sent_by = $3 LIMIT $4)
       SELECT c.status, (SELECT count(*)::int FROM own) AS own_files, (SELECT coalesce(sum(bytes), 0) FROM own) AS own,
         (SELECT count(*)::int FROM chat_files f WHERE f.conversation_id = c.id AND f.message_id IS NULL) AS loose,
         (SELECT coalesce(sum(r.bytes), 0) FROM chat_file_usage r WHERE r.tenant_id = $2) AS used
       FROM chat_conversations c WHERE c.tenant_id = $2 AND c.id = $1`,
      [conversationId, tenantId, isVisitor ? sentBy : null, visitorQuota.files],
    );
    const [row] = rows;
    if (row === undefined) throw notFound('conversation', conversationId);
    if (row.status === 'closed' && isVisitor)
      throw new AppError(
        'conversation_closed',
        `The conversation ${conversationId} is closed. Start a new conversation.`,
      );
    if (row.loose >= maxUnattached)
      throw new AppError(
        'storage_full',
        `${maxUnattached} files of this conversation are in no message yet. Send those first, or wait a day until they are deleted.`,
      );
    const ownBytes = Math.max(
      Math.min(visitorQuota.bytes, visitorQuota.share * maxWorkspaceBytes),
      visitorQuota.leastBytes,
    );
    if (row.own_files >= visitorQuota.files || Number(row.own) + bytes > ownBytes)
      throw new AppError(
        'storage_full',
        `The files that you sent would be more than the ${visitorQuota.files} files or the ${Math.floor(ownBytes / mib)} MiB that one visitor may store; send the file in another way, such as a link.`,
      );
    if (isVisitor && Number(row.used) + bytes > visitorShare * maxWorkspaceBytes)
      throw new AppError(
        'storage_full',
        'The storage for files of visitors is full; send the file in another way, such as a link, or ask an agent to free storage.',
      );
    if (Number(row.used) + bytes > maxWorkspaceBytes)
      throw new AppError(
        'storage_full',
        `The files of this workspace's conversations would take more than the ${maxWorkspaceBytes} bytes that are allowed; erase conversations, set retentionDays in the settings of Live Chat, or raise ARTIFACTS_PER_WORKSPACE_MIB.`,
      );
  }
}
