import { AppError } from '../../../../shared/errors.ts';
import { reasonOf } from '../../../platform/observability/reason-of.ts';
import { SipServer } from '../sip/index.ts';
import type { SipServerSettings } from '../sip/index.ts';

/**
 * Asks the operator's SIP server for its version, connects to it once as the hub does for softphones, and asks there whether it serves the domain, and whether what sound goes by answers.
 * Answers what came, in a line; that none is set is well.
 * @throws AppError `unavailable` that says what to do.
 */
export async function examineSipServer(
  settings: SipServerSettings | null,
  emergency: 'refuse' | 'route' = 'refuse',
): Promise<string> {
  if (settings === null)
    return 'not set; set SIP_DOMAIN, SIP_WS_URL, SIP_RPC_URL and SIP_SHARED_SECRET to offer hosted SIP';
  const { domain } = settings;
  const server = new SipServer(settings);
  const attempt = async <Result>(setting: string, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await run();
    } catch (error) {
      throw new AppError(
        'unavailable',
        `the SIP server does not answer at ${setting}: ${reasonOf(error)}; see that it runs, that ${setting} is its address, and that it has the same SIP_SHARED_SECRET.`,
      );
    }
  };
  const version = await attempt('SIP_RPC_URL', () => server.version());
  const status = await attempt('SIP_WS_URL', () => server.askForDomain());
  if (status !== 200)
    throw new AppError(
      'unavailable',
      `the SIP server does not serve ${domain}, but answers ${status} for it; give it and the hub the same SIP_DOMAIN.`,
    );
  const relays = await attempt('SIP_RPC_URL', () => server.mediaRelays());
  const away = relays?.filter(({ isUp }) => !isUp).map(({ url }) => url) ?? [];
  if (away.length > 0)
    throw new AppError(
      'unavailable',
      `the SIP server does not reach rtpengine at ${away.join(', ')}; see that it runs there, as SIP_RTPENGINE of the SIP server says.`,
    );
  const sound = relays === null ? 'sound goes from phone to phone' : 'sound goes by rtpengine';
  const warning =
    emergency === 'route'
      ? '; warning: SIP_EMERGENCY=route helps only where this server has a way to numbers, which deploy/kamailio has not; try it, or set refuse'
      : '';
  return `${version.trim()} serves ${domain}; ${sound}${warning}`;
}
