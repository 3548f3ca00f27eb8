export type { Tokens } from './cost.ts';
export { costMicrosOf } from './cost.ts';
export type { UsageLedger } from './ledger.ts';
export { readAnsweredConnections, readModelHealth } from './model-health.ts';
export { createUsage } from './product.ts';
export { reserve } from './reservations.ts';
export { SpeechMeter } from './speech-meter.ts';
export type { SpeechLimits } from './speech-meter.ts';
