export { SipModes } from './sip-modes.ts';
