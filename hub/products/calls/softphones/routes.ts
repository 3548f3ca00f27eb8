import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import type { SoftphoneDoors } from './softphone-doors.ts';

export const softphoneRoutes = (doors: SoftphoneDoors) => [
  implementSocket(sipSockets.connectSoftphone, (opened) => doors.open(opened)),
];
