import type { JsonObject } from '../../../../shared/json.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** The interfaces to models, knowledge and automations that replies use. */

export interface ReplyModels {
  /**
   * Yields the text of the answer in pieces as the model generates it.
   * @throws AppError, or the reason of the signal.
   */
  stream(request: ModelRequest): AsyncGenerator<string, ModelAnswer>;
}

export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  /** Relevance from 0 to 1. */
  score: number;
}

export interface ReplyKnowledge {
  /** Returns the most relevant entries for a question, best first. */
  retrieve(
    tenantId: string,
    question: string,
    options: { limit: number; locale?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<readonly Passage[]>;
  /** Returns the terms of the business, which every prompt contains. */
  readBusinessTerms(tenantId: string): Promise<string>;
  /** Counts a question that the knowledge does not answer. */
  recordUnanswered(tenantId: string, conversationId: string, question: string): Promise<void>;
}

/** A skill call of the AI agent that a person must approve. */
export interface ApprovalRequest {
  skillId: string;
  title: string;
  input: JsonObject;
}

export interface ReplyActions {
  /** Returns the globs of skills that need an approval for every caller. */
  readPolicy(tx: Transaction, tenantId: string): Promise<{ approvalsRequiredFor: readonly string[] }>;
  /**
   * Requests the approval of a skill call, in the transaction of the caller.
   * @throws AppError.
   */
  requestApproval(
    tx: Transaction,
    tenantId: string,
    request: Omit<ApprovalRequest, 'title'> & {
      conversationId: string;
      environment: 'live' | 'test';
      /** The authors of the tools, instructions and models of the AI agent. */
      authoredBy: readonly string[];
    },
  ): Promise<void>;
}
