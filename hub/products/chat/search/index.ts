export { findMessages } from './find-messages.ts';
export { highlightsOf } from './highlights.ts';
export { termsOf, wordsOf } from './words.ts';
