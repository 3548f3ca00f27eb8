import { sipCloseCodes, maxSipSocketsPerMinute } from '../../../../shared/contract/calls/sip-socket.ts';
import type { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import { actorOf } from '../../../platform/http/auth/principal.ts';
import type { OpenedSocket, WebSocket } from '../../../platform/http/live/sockets.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
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

/** Where softphones may call, at whatever server. */
export type SoftphoneRules = Omit<DialRules, 'domain'>;

export interface SoftphoneSocketGatewayOptions {
  db: Database;
  events: Events;
  logger: Logger;
  rateLimiter: RateLimiter;
  hosted: HostedSips;
  /** Null where the operator has none. */
  server: SipServer | null;
  rules: SoftphoneRules;
  calls: Pick<CallLeases, 'begin' | 'hold' | 'takeUp'>;
  now: () => number;
}

/** What fails for want of the SIP server, and not of this hub. */
class SipServerAway extends Error {}

type Opened = OpenedSocket<typeof sipSockets.connectSoftphone>;

/** The way in for softphones of people who are signed in, to the operator's SIP server. */
export class SoftphoneSocketGateway implements Disposable {
  readonly #options: SoftphoneSocketGatewayOptions;
  readonly #open = new Map<SoftphoneSession, string>();
  readonly #subscriptions: Disposable[];
  #stopping: AbortSignal | undefined;

  constructor(options: SoftphoneSocketGatewayOptions) {
    this.#options = options;
    this.#subscriptions = [
      options.events.subscribe(sipModeTopic, ({ tenantId }) => void this.#recheck(String(tenantId))),
      options.events.onReconnect(() =>
        new Set(this.#open.values()).forEach((tenantId) => void this.#recheck(tenantId)),
      ),
    ];
  }

  open(opened: Opened): void {
    const { socket } = opened;
    // What it sends meanwhile waits in the connection.
    socket.pause();
    void this.#connect(opened)
      .catch((error: unknown) => {
        const missing = error instanceof SipServerAway ? 'the SIP server is away' : 'the hub can not look who may call';
        this.#options.logger.warn({ err: error, requestId: opened.requestId }, missing);
        socket.close(sipCloseCodes.tryAgain, missing);
      })
      .finally(() => socket.resume());
  }

  [Symbol.dispose](): void {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
  }

  async #connect(opened: Opened): Promise<void> {
    const { rateLimiter, hosted, server, logger, calls } = this.#options;
    const { socket, principal, requestId, stopping } = opened;
    const { tenantId, user, sessionId } = principal;
    const owner = { tenantId, sessionId };
    const { allowed } = await rateLimiter.take(`sip-socket:${user.id}`, {
      limit: maxSipSocketsPerMinute,
      windowSeconds: 60,
    });
    if (!allowed)
      return socket.close(sipCloseCodes.tooMany, `more than ${maxSipSocketsPerMinute} connections in a minute`);
    if (server === null) return socket.close(sipCloseCodes.tryAgain, 'sip_server_not_configured');
    if (!(await hosted.isOn(tenantId))) return socket.close(sipCloseCodes.foreign, 'hosted SIP is not on');
    const username = personUsername(tenantId, user.id);
    const upstream = await server.connect(username).catch((cause: unknown) => {
      throw new SipServerAway('no connection to it', { cause });
    });
    if (socket.readyState !== socket.OPEN) return upstream.terminate();
    const audit = new CallAudit(
      (entry) =>
        void this.#record(tenantId, actorOf(principal), user.id, entry).catch((error: unknown) =>
          logger.error({ err: error, requestId }, 'a call was not written to the audit log'),
        ),
    );
    socket.on('close', () => audit[Symbol.dispose]());
    const line = new SoftphoneSession({
      browser: socket,
      upstream,
      server,
      address: `${username}@${server.domain}`,
      decide: (uri) => decideDial(uri, workspaceUsername(tenantId), { ...this.#options.rules, domain: server.domain }),
      begin: (asked) => calls.begin(owner, asked),
      hold: (dialog) => calls.hold(owner, dialog),
      onJudged: (call) => audit.add(call),
      now: this.#options.now,
    });
    this.#hold(line, socket, tenantId);
    await this.#takeUp(line, server, await calls.takeUp(owner), () => socket.readyState === socket.OPEN);
    opened.onRevoked((code) => void line.end(sipCloseCodes.revoked, code));
    this.#followStop(stopping);
    // What happened while it was connected was told to nobody.
    await Promise.all([
      this.#recheck(tenantId),
      opened.authenticate().catch((error: unknown) => {
        if (error instanceof AppError && error.status < 500) return line.end(sipCloseCodes.revoked, 'unauthenticated');
        // Nobody said that the person may not; whoever comes back is looked at again.
        logger.warn({ err: error, requestId }, 'it could not be looked whether a softphone may stay');
        return line.hangUp(sipCloseCodes.tryAgain, 'the hub can not look who may call');
      }),
    ]);
  }

  async #takeUp(
    line: SoftphoneSession,
    server: SipServer,
    found: Awaited<ReturnType<CallLeases['takeUp']>>,
    isOpen: () => boolean,
  ): Promise<void> {
    const sides = await Promise.all(found.map(({ dialog }) => server.sidesOf(dialog))).catch((cause: unknown) => {
      for (const { call } of found) call.left();
      throw new SipServerAway('it does not say where the sides of a call are', { cause });
    });
    for (const [at, { dialog, call }] of found.entries()) {
      const known = sides[at];
      if (known && isOpen()) line.takeUp(dialog, call, known);
      else call.left();
    }
  }

  #hold(line: SoftphoneSession, socket: WebSocket, tenantId: string): void {
    this.#open.set(line, tenantId);
    socket.on('close', () => this.#open.delete(line));
  }

  #followStop(stopping: AbortSignal): void {
    const close = () => {
      for (const line of this.#open.keys()) line.hangUp(sipCloseCodes.tryAgain, 'the hub stops');
    };
    if (stopping.aborted) close();
    if (this.#stopping === stopping) return;
    this.#stopping = stopping;
    stopping.addEventListener('abort', close, { once: true });
  }

  async #recheck(tenantId: string): Promise<void> {
    const lines = [...this.#open].flatMap(([line, of]) => (of === tenantId ? [line] : []));
    if (lines.length === 0) return;
    try {
      if (await this.#options.hosted.isOn(tenantId)) return;
      await Promise.all(lines.map((line) => line.end(sipCloseCodes.foreign, 'hosted SIP is not on')));
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'it could not be looked whether hosted SIP is on');
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
