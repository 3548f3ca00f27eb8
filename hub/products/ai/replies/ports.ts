import type { JsonObject } from '../../../../shared/json.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** What replies need of the models, the knowledge and the automations of a workspace. */

export interface ReplyModels {
  /** Asks the models; yields pieces of the text while it comes. @throws AppError, or the signal's reason. */
  stream(request: ModelRequest): AsyncGenerator<string, ModelAnswer>;
}

export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  /** How well it fits, from 0 to 1. */
  score: number;
}

export interface ReplyKnowledge {
  /** The entries that fit a question best, the best first. */
  retrieve(
    tenantId: string,
    question: string,
    options: { limit: number; locale?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<readonly Passage[]>;
  /** Terms of the business, which go with every question. */
  terms(tenantId: string): Promise<string>;
  /** Counts a question that what was found does not answer. */
  recordUnanswered(tenantId: string, conversationId: string, question: string): Promise<void>;
}

/** Something that the AI agent would like done. */
export interface ApprovalRequest {
  skillId: string;
  title: string;
  input: JsonObject;
}

export interface ReplyActions {
  /** Which skills need an approval whoever calls them, as globs. */
  readPolicy(tx: Transaction, tenantId: string): Promise<{ approvalsRequiredFor: readonly string[] }>;
  /** Puts a call of a skill to a person, in its caller's transaction; answers what to call after the commit. @throws AppError. */
  requestApproval(
    tx: Transaction,
    tenantId: string,
    request: Omit<ApprovalRequest, 'title'> & {
      conversationId: string;
      environment: 'live' | 'test';
      /** Who gave the AI agent its tools, its instructions and its models. */
      authoredBy: readonly string[];
    },
  ): Promise<() => void>;
}
