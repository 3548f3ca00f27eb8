export { maxMultipartBytes, readMultipartResult } from './multipart-result.ts';
export { textOfOutput } from './output-text.ts';
export { CommandResults } from './results.ts';
