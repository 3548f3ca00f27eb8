import { AppError } from '../../../../shared/errors.ts';
import { reasonOf } from '../../../platform/observability/reason-of.ts';
import { SipServer } from '../sip/index.ts';
import type { SipServerSettings } from '../sip/index.ts';

/** A busy server is not reported as unavailable. */
const patienceMs = 10_000;

/**
 * Checks the operator's SIP server: version, connection as for softphones, domain, and media relays.
 * @returns one line with the result. A missing server is not an error.
 * @throws AppError `unavailable` with instructions.
 */
export async function examineSipServer(
  settings: SipServerSettings | null,
  emergency: 'refuse' | 'route' = 'refuse',
): Promise<string> {
  if (settings === null)
    return 'not set; set SIP_DOMAIN, SIP_WS_URL, SIP_RPC_URL and SIP_SHARED_SECRET to offer hosted SIP';
  const { domain } = settings;
  const server = new SipServer({ ...settings, rpcTimeoutMs: patienceMs });
  const attempt = async <Result>(setting: string, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await run();
    } catch (error) {
      throw new AppError(
        'unavailable',
        `the SIP server does not answer at ${setting}: ${reasonOf(error)}; check that it runs, that ${setting} is its address, and that it has the same SIP_SHARED_SECRET.`,
      );
    }
  };
  const version = await attempt('SIP_RPC_URL', () => server.version());
  const status = await attempt('SIP_WS_URL', () => server.checkDomain());
  if (status !== 200)
    throw new AppError(
      'unavailable',
      `the SIP server does not serve ${domain}, but answers ${status} for it; give it and the hub the same SIP_DOMAIN.`,
    );
  const relays = await attempt('SIP_RPC_URL', () => server.mediaRelays());
  const unreachable = relays?.filter(({ isUp }) => !isUp).map(({ url }) => url) ?? [];
  if (unreachable.length > 0)
    throw new AppError(
      'unavailable',
      `the SIP server does not reach rtpengine at ${unreachable.join(', ')}; check that it runs there, and that SIP_RTPENGINE of the SIP server has its address.`,
    );
  const media = relays === null ? 'media goes directly between phones' : 'media goes through rtpengine';
  const warning =
    emergency === 'route'
      ? '; warning: SIP_EMERGENCY=route works only if this server can call phone numbers, which deploy/kamailio cannot; test it, or set refuse'
      : '';
  return `${version.trim()} serves ${domain}; ${media}${warning}`;
}
