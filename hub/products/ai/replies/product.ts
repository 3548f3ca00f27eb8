import type { SkillCatalog } from '../../../engine/skill.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { RowRetention } from '../../../platform/db/row-retention.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { Product } from '../../../product.ts';
import type { Chat } from '../../chat/index.ts';
import { TurnAnswerer } from './answer-turn.ts';
import { TurnCommitter } from './commit-turn.ts';
import type { ReplyActions, ReplyKnowledge, ReplyModels } from './ports.ts';
import { ReplyComposer } from './reply.ts';
import { replyRoutes } from './routes.ts';
import { AiSettings } from './settings.ts';
import { SuggestionGenerator } from './suggestion-generator.ts';
import { ReplyTools } from './tools.ts';
import { scheduleMissedTurns, scheduleTurn, scheduleTurnOfMoved } from './turn-store.ts';
import { ReplyWorker, turnsTopic } from './worker.ts';

/** Replies of the AI agent in Live Chat. */
export interface Replies extends Product {
  /** Starts the worker that answers waiting visitors. Dispose it to stop. */
  startReplying(): AsyncDisposable;
}

export function createReplies(
  { db, events, rateLimiter, logger }: Platform,
  { ai, knowledge }: { ai: ReplyModels; knowledge: ReplyKnowledge },
  {
    skills,
    actions,
    chat,
  }: { skills: SkillCatalog; actions: ReplyActions; chat: Pick<Chat, 'events' | 'writers' | 'suggestions'> },
): Replies {
  let worker: ReplyWorker | null = null;
  const wakeOnCommit = (tx: Transaction, waitMs: number | null) => {
    if (waitMs === null) return;
    // If this process runs a worker, it answers its own messages. Otherwise it notifies the other processes.
    const local = worker;
    if (local === null) tx.publish(turnsTopic, { waitMs });
    else tx.onCommit(() => local.wake(waitMs));
  };
  chat.events.subscribe(async (tx, event) => wakeOnCommit(tx, await scheduleTurn(tx, event)));
  chat.events.onMessagesMoved(async (tx, tenantId, id) =>
    wakeOnCommit(tx, await scheduleTurnOfMoved(tx, tenantId, id)),
  );
  const composer = new ReplyComposer(ai, knowledge, new ReplyTools({ db, skills, actions, rateLimiter, logger }));
  const committer = new TurnCommitter({ db, chat, actions });
  const answerer = new TurnAnswerer({ db, rateLimiter, composer, committer, events });
  const { suggestions } = chat;
  return {
    routes: replyRoutes({
      settings: new AiSettings(db, skills),
      suggestionGenerator: new SuggestionGenerator({ db, rateLimiter, composer, suggestions }),
      suggestions,
    }),
    retention: repliesRetention,
    tasks: [{ name: 'schedule missed AI turns', everyMs: 30_000, run: () => scheduleMissedTurns(db) }],
    startReplying() {
      worker = new ReplyWorker({ db, events, logger, answerer });
      return worker;
    },
  };
}

export const repliesRetention: RowRetention = { aged: [{ table: 'chat_ai_days', days: 400 }] };
