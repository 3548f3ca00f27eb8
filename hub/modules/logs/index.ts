export { recordMessage } from './record.ts';
export { Logs, presentLog, presentMessage } from './service.ts';
