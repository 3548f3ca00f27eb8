import { sipSockets } from '../../../../shared/contract/calls/sip-socket.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import type { SoftphoneSocketGateway } from './softphone-socket-gateway.ts';

export const softphoneRoutes = (doors: SoftphoneSocketGateway) => [
  implementSocket(sipSockets.connectSoftphone, (opened) => doors.open(opened)),
];
