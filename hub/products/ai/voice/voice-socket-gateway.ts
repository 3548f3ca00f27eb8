import type { voiceSockets } from '../../../../shared/contract/ai/voice.ts';
import { voiceCloseCodes, maxVoiceSocketsPerUser } from '../../../../shared/contract/ai/voice.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { OpenedSocket } from '../../../platform/http/live/sockets.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { requireAnswerBindings } from './bindings.ts';
import { openFvad } from './voice-activity.ts';
import { VoiceConnection } from './voice-connection.ts';
import { VoiceConversation } from './voice-conversation.ts';
import type { ConversationOptions } from './voice-conversation.ts';
import type { VoiceSessionLimit } from './voice-session-limit.ts';

export interface VoiceSocketGatewayOptions extends Pick<ConversationOptions, 'onTurn'> {
  turns: Omit<ConversationOptions['turns'], 'speech'>;
  /** Returns the speech bindings of a workspace. */
  speechOf: (tenantId: string) => ConversationOptions['turns']['speech'];
  sessionLimit: VoiceSessionLimit;
  logger: Logger;
}

type OpenedVoiceSocket = OpenedSocket<typeof voiceSockets.connectVoice>;

/** Accepts voice connections and starts their conversations. */
export class VoiceSocketGateway {
  readonly #options: VoiceSocketGatewayOptions;
  readonly #open = new Set<VoiceConversation>();
  #stopping: AbortSignal | undefined;

  constructor(options: VoiceSocketGatewayOptions) {
    this.#options = options;
  }

  open(opened: OpenedVoiceSocket): void {
    const connection = new VoiceConnection(opened, { clock: this.#options.turns.clock, logger: this.#options.logger });
    // Frames that arrive during the set-up wait in the socket.
    opened.socket.pause();
    this.#startConversation(opened, connection)
      .catch((error: unknown) => {
        connection.fail(error);
        connection.close(1011, 'try again');
      })
      .finally(() => opened.socket.resume());
  }

  async #startConversation(opened: OpenedVoiceSocket, connection: VoiceConnection): Promise<void> {
    const { sessionLimit, turns, speechOf, onTurn } = this.#options;
    const { socket, stopping } = opened;
    const { principal } = opened;
    const { tenantId } = principal;
    const fvad = await openFvad();
    // A server acts for many users with one API key, so the limit per user does not apply.
    const lease =
      principal.kind === 'token'
        ? new AsyncDisposableStack()
        : await sessionLimit.acquire(tenantId, principal.user.id, () =>
            connection.close(voiceCloseCodes.tooMany, 'another connection acquired its place'),
          );
    if (lease === null) {
      connection.fail(
        new AppError(
          'rate_limited',
          `You already have ${maxVoiceSocketsPerUser} voice connections; close one of them and try again.`,
          { retryAfterSeconds: 5, limit: maxVoiceSocketsPerUser },
        ),
      );
      return connection.close(voiceCloseCodes.tooMany, `more than ${maxVoiceSocketsPerUser} connections of one user`);
    }
    // The page may have closed the connection while the lease was acquired.
    if (!connection.isOpen) return lease[Symbol.asyncDispose]();
    const deps = { ...turns, speech: speechOf(tenantId) };
    const conversation = new VoiceConversation({
      tenantId,
      connection,
      fvad,
      turns: deps,
      onTurn,
      authorize: () => Promise.all([opened.authenticate(), opened.limit()]),
    });
    this.#open.add(conversation);
    socket.on('message', (data, isBinary) => conversation.onMessage(data as Buffer, isBinary));
    socket.on('close', () => {
      this.#open.delete(conversation);
      conversation.abort();
      background(lease[Symbol.asyncDispose](), this.#options.logger, 'release of the lease of a voice connection');
    });
    this.#followStop(stopping);
    if (stopping.aborted) conversation.stop();
    // The page then says at the start that it gets no answers.
    await requireAnswerBindings(deps, tenantId).catch((error: unknown) => connection.fail(error));
  }

  #followStop(stopping: AbortSignal): void {
    if (this.#stopping === stopping) return;
    this.#stopping = stopping;
    stopping.addEventListener('abort', () => this.#open.forEach((conversation) => conversation.stop()), {
      once: true,
    });
  }
}
