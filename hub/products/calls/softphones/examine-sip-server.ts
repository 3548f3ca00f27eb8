import { AppError } from '../../../../shared/errors.ts';
import { reasonOf } from '../../../platform/reason-of.ts';
import { SipServer } from '../../../platform/sip/sip-server.ts';
import type { SipServerSettings } from '../../../platform/sip/sip-server.ts';

/**
 * Asks the operator's SIP server for its version, and connects to it once as the hub does for softphones. Answers what came, in a line; that none is set is well.
 * @throws AppError `unavailable` that says what to do.
 */
export async function examineSipServer(settings: SipServerSettings | null): Promise<string> {
  if (settings === null)
    return 'not set; set SIP_DOMAIN, SIP_WS_URL, SIP_RPC_URL and SIP_SHARED_SECRET to offer hosted SIP';
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
  (await attempt('SIP_WS_URL', () => server.connect('outrigger-doctor'))).close();
  return `${version} serves ${settings.domain}`;
}
