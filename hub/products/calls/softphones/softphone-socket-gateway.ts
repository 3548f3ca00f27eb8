import { sipCloseCodes, maxSipSocketsPerMinute } from '../../../../shared/contract/calls/sip-socket.ts';
import type { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { OpenedSocket, WebSocket } from '../../../platform/http/live/sockets.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { personUsername, workspaceUsername } from '../hosted/index.ts';
import type { HostedSips } from '../hosted/index.ts';
import { sipModeTopic } from '../sip-mode/index.ts';
import type { SipServer } from '../sip/index.ts';
import { CallAudit } from './call-audit.ts';
import type { CallAuditEntry } from './call-audit.ts';
import type { CallLeases } from './call-leases.ts';
import { decideDial } from './dial-policy.ts';
import type { DialRules } from './dial-policy.ts';
import { SoftphoneSession } from './softphone-session.ts';

/** The dial rules without the domain of the SIP server. */
export type SoftphoneRules = Omit<DialRules, 'domain'>;

export interface SoftphoneSocketGatewayOptions {
  db: Database;
  events: Events;
  logger: Logger;
  rateLimiter: RateLimiter;
  hosted: HostedSips;
  /** Null without a SIP server. */
  server: SipServer | null;
  rules: SoftphoneRules;
  calls: Pick<CallLeases, 'start' | 'track' | 'resume'>;
  now: () => number;
  /** Time limit for the end of the calls of a softphone, in milliseconds. */
  endTimeoutMs?: number | undefined;
}

/** The SIP server caused the failure, not this hub. */
class SipServerUnreachable extends Error {}

type Opened = OpenedSocket<typeof sipSockets.connectSoftphone>;

/** Connects the softphones of signed-in users to the operator's SIP server. */
export class SoftphoneSocketGateway implements Disposable {
  readonly #options: SoftphoneSocketGatewayOptions;
  readonly #open = new Map<SoftphoneSession, string>();
  readonly #subscriptions: Disposable[];
  #stopping: AbortSignal | undefined;

  constructor(options: SoftphoneSocketGatewayOptions) {
    this.#options = options;
    this.#subscriptions = [
      options.events.subscribe(sipModeTopic, ({ tenantId }) => this.#recheckInBackground(String(tenantId))),
      options.events.onReconnect(() =>
        new Set(this.#open.values()).forEach((tenantId) => this.#recheckInBackground(tenantId)),
      ),
    ];
  }

  open(opened: Opened): void {
    const { socket } = opened;
    // Frames that arrive before the session starts wait in the connection.
    socket.pause();
    this.#connect(opened)
      .catch((error: unknown) => {
        const reason =
          error instanceof SipServerUnreachable
            ? 'the SIP server is not reachable'
            : 'the hub cannot check the session';
        this.#options.logger.warn({ err: error, requestId: opened.requestId }, reason);
        socket.close(sipCloseCodes.tryAgain, reason);
      })
      .finally(() => socket.resume());
  }

  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
  }

  async #connect(opened: Opened): Promise<void> {
    const { rateLimiter, hosted, server, logger, calls, now, endTimeoutMs } = this.#options;
    const { socket, principal, requestId, stopping } = opened;
    const { tenantId, user, sessionId } = principal;
    const owner = { tenantId, sessionId };
    const { allowed } = await rateLimiter.take(`sip-socket:${user.id}`, {
      limit: maxSipSocketsPerMinute,
      windowSeconds: 60,
    });
    if (!allowed)
      return socket.close(sipCloseCodes.tooMany, `more than ${maxSipSocketsPerMinute} connections per minute`);
    if (server === null) return socket.close(sipCloseCodes.tryAgain, 'sip_server_not_configured');
    if (!(await hosted.isOn(tenantId))) return socket.close(sipCloseCodes.foreign, 'hosted SIP is not on');
    const username = personUsername(tenantId, user.id);
    const upstream = await server.connect(username).catch((cause: unknown) => {
      throw new SipServerUnreachable('connecting to the SIP server failed', { cause });
    });
    if (socket.readyState !== socket.OPEN) return upstream.terminate();
    const audit = new CallAudit((entry) => {
      this.#record(tenantId, actorOf(principal), user.id, entry).catch((error: unknown) =>
        logger.error({ err: error, requestId }, 'writing a call to the audit log failed'),
      );
    });
    socket.on('close', () => audit[Symbol.dispose]());
    const session = new SoftphoneSession({
      browser: socket,
      upstream,
      server,
      address: `${username}@${server.domain}`,
      decide: (uri) => decideDial(uri, workspaceUsername(tenantId), { ...this.#options.rules, domain: server.domain }),
      start: (dialog) => calls.start(owner, dialog),
      track: (dialog) => calls.track(owner, dialog),
      onDecision: (call) => audit.add(call),
      logger,
      now,
      endTimeoutMs,
    });
    this.#add(session, socket, tenantId);
    await this.#resume(session, server, await calls.resume(owner), () => socket.readyState === socket.OPEN);
    opened.onRevoked((code) => background(session.end(sipCloseCodes.revoked, code), logger, 'end of a softphone'));
    this.#followStop(stopping);
    // Changes during the set-up reached no listener, so check again.
    await Promise.all([
      this.#recheck(tenantId),
      opened.authenticate().catch((error: unknown) => {
        if (error instanceof AppError && error.status < 500)
          return session.end(sipCloseCodes.revoked, 'unauthenticated');
        // The check failed without a decision, so keep the calls. The next connection repeats the check.
        logger.warn({ err: error, requestId }, 'checking the session of a softphone failed');
        return session.disconnect(sipCloseCodes.tryAgain, 'the hub cannot check the session');
      }),
    ]);
  }

  async #resume(
    session: SoftphoneSession,
    server: SipServer,
    found: Awaited<ReturnType<CallLeases['resume']>>,
    isOpen: () => boolean,
  ): Promise<void> {
    const sides = await Promise.all(found.map(({ dialog }) => server.sidesOf(dialog))).catch((cause: unknown) => {
      for (const { call } of found) call.detached();
      throw new SipServerUnreachable('reading the sides of a call from the SIP server failed', { cause });
    });
    for (const [at, { dialog, call }] of found.entries()) {
      const known = sides[at];
      if (known && isOpen()) session.resume(dialog, call, known);
      else call.detached();
    }
  }

  #add(session: SoftphoneSession, socket: WebSocket, tenantId: string): void {
    this.#open.set(session, tenantId);
    socket.on('close', () => this.#open.delete(session));
  }

  #followStop(stopping: AbortSignal): void {
    const close = () => {
      for (const session of this.#open.keys()) session.disconnect(sipCloseCodes.tryAgain, 'the hub stops');
    };
    if (stopping.aborted) close();
    if (this.#stopping === stopping) return;
    this.#stopping = stopping;
    stopping.addEventListener('abort', close, { once: true });
  }

  #recheckInBackground(tenantId: string): void {
    background(this.#recheck(tenantId), this.#options.logger, 'check whether hosted SIP is on');
  }

  async #recheck(tenantId: string): Promise<void> {
    const sessions = [...this.#open].flatMap(([session, of]) => (of === tenantId ? [session] : []));
    if (sessions.length === 0) return;
    try {
      if (await this.#options.hosted.isOn(tenantId)) return;
      await Promise.all(sessions.map((session) => session.end(sipCloseCodes.foreign, 'hosted SIP is not on')));
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'checking whether hosted SIP is on failed');
    }
  }

  #record(tenantId: string, actor: string, userId: string, { action, details }: CallAuditEntry): Promise<void> {
    return this.#options.db.workspace(tenantId, (tx) =>
      recordAudit(tx, {
        tenantId,
        actor,
        action,
        targetType: 'user',
        targetId: userId,
        details,
      }),
    );
  }
}
