import { unansweredQuestionDays } from '../../../shared/contract/ai/knowledge.ts';
import { systemClock } from '../../platform/clock.ts';
import { createInference } from '../../platform/inference/inference.ts';
import type { InferenceLimits } from '../../platform/inference/inference.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Product } from '../../product.ts';
import { createKnowledge } from './knowledge/index.ts';
import type { Knowledge, KnowledgeSettings } from './knowledge/index.ts';
import { Ai, Breakers, countOpenBreakers, openOwnModel, RefusalMails } from './models/index.ts';
import type { ModelCall, OwnModelSettings } from './models/index.ts';
import { modelRoutes } from './models/routes.ts';
import { aiSkills } from './models/skills.ts';
import { Answering } from './prompt/index.ts';
import { AiRuns, FairSemaphore } from './runs/index.ts';
import { aiRunRoutes } from './runs/routes.ts';
import { Speaking } from './speak/index.ts';
import { speakRoutes } from './speak/routes.ts';
import { openSpeech } from './speech/index.ts';
import type { SpeechCall, SpeechSettings } from './speech/index.ts';
import { createUsage, SpeechMeter } from './usage/index.ts';
import type { SpeechLimits } from './usage/index.ts';
import { voicePages } from './voice-page/pages.ts';
import { voiceRoutes, voiceSocketRoutes } from './voice/routes.ts';
import { VoiceAnswers } from './voice/voice-answers.ts';
import { VoiceSessionLimit } from './voice/voice-session-limit.ts';
import { VoiceSocketGateway } from './voice/voice-socket-gateway.ts';
import type { TurnEnd } from './voice/voice-turn.ts';

export interface AiSettings extends KnowledgeSettings {
  /** The hub's own model; null without one. */
  ai: OwnModelSettings | null;
  speech: SpeechSettings & { limits: SpeechLimits };
  retention: { aiRuns: number };
}

/** Receives events of models and speech for metrics. */
export interface ModelMeters {
  call(call: ModelCall): void;
  breaker(change: 'opened' | 'reopened' | 'closed'): void;
  speech(call: SpeechCall): void;
  voiceTurn(turn: TurnEnd): void;
}

/** The AI product: models of workspaces, knowledge, runs and voice. */
export interface AiProduct extends Product {
  ai: Ai;
  knowledge: Knowledge;
  /** Sets the receiver of metrics. */
  measureBy(meters: ModelMeters): void;
  /** Counts open breakers over all workspaces and processes. */
  countBreakers(): Promise<{ open: number; halfOpen: number }>;
}

/**
 * @param stack disposes what this function opens.
 * @param modelLimits time limits of model requests; for tests.
 */
export function createAi(
  stack: AsyncDisposableStack,
  platform: Platform,
  settings: AiSettings,
  modelLimits?: InferenceLimits,
): AiProduct {
  const { db, secrets, egress, mailer, logger, rateLimiter } = platform;
  let meters: ModelMeters | null = null;
  const clock = systemClock;
  const breakers = stack.use(new Breakers({ db, logger, clock, onChange: (change) => meters?.breaker(change) }));
  const { limits } = settings.speech;
  const usage = createUsage(stack, platform, (tenantId) => ai.pricedModels(tenantId), limits);
  const ai: Ai = new Ai({
    db,
    secrets,
    inference: createInference(egress, modelLimits),
    own: settings.ai === null ? null : openOwnModel(stack, settings.ai, modelLimits),
    breakers,
    ledger: usage.ledger,
    clock,
    onCall: (call) => meters?.call(call),
  });
  const knowledge = createKnowledge(stack, platform, settings);
  const answering = new Answering(ai, knowledge.knowledge);
  // The limits are below the number of connections to the model, so that no workspace uses all of them.
  const slots = new FairSemaphore({ perWorkspace: 8, waiting: 16, waitMs: 3_000 });
  const runs = new AiRuns({ db, cursors: platform.cursors, answering, slots });
  const speech = openSpeech(stack, settings.speech, { clock, onCall: (call) => meters?.speech(call) });
  const meter = new SpeechMeter({ db, speech, limits });
  const speechOf = (tenantId: string) => meter.bindingsOf(tenantId);
  const speaking = new Speaking(answering);
  const voice = new VoiceAnswers({ models: ai, speechOf, speaking, slots });
  const gateway = new VoiceSocketGateway({
    sessionLimit: stack.use(new VoiceSessionLimit({ db, logger })),
    turns: { models: ai, speaking, slots, clock },
    speechOf,
    onTurn: (turn) => meters?.voiceTurn(turn),
    logger,
  });
  const mails = new RefusalMails({ db, mailer, logger });
  return {
    ai,
    knowledge: knowledge.knowledge,
    routes: [
      ...modelRoutes(ai, rateLimiter),
      ...(usage.routes ?? []),
      ...knowledge.routes,
      ...aiRunRoutes(runs),
      ...speakRoutes(speaking, slots),
      ...voiceRoutes(voice, rateLimiter),
    ],
    sockets: voiceSocketRoutes(gateway),
    skills: aiSkills(answering),
    retention: {
      aged: [{ table: 'ai_runs', days: settings.retention.aiRuns }, ...(usage.retention?.aged ?? [])],
      expiring: [
        { table: 'knowledge_unanswered', column: 'last_asked_at', days: unansweredQuestionDays },
        // Rows of removed models have no other cleanup. Breaker state is irrelevant after a day.
        { table: 'model_breakers', column: 'updated_at', days: 2 },
        ...(usage.retention?.expiring ?? []),
        { table: 'voice_session_slots' },
      ],
    },
    tasks: [
      { name: 'mail model refusals', everyMs: 5_000, run: (stopping) => mails.send(stopping) },
      ...(usage.tasks ?? []),
      ...knowledge.tasks,
    ],
    measureBy(receiver) {
      meters = receiver;
    },
    countBreakers: () => countOpenBreakers(db),
    pages: voicePages,
  };
}
