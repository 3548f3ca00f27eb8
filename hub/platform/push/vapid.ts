import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { eq } from '../db/orm.ts';
import { hubSettings } from '../db/schema.ts';
import type { Secrets } from '../secrets/secrets.ts';

/** The key pair with which the hub identifies itself to push services (VAPID, RFC 8292). */
export interface VapidKey {
  /** Uncompressed point in base64url, as browsers expect it. */
  publicKey: string;
  /** The `Authorization` header of a request to a push service. @param origin the origin of the service. */
  authorization(origin: string): string;
}

const settingName = 'vapid_key';
const sealPurpose = 'vapid key';
/** Push services accept at most 24 hours. */
const tokenSeconds = 12 * 3_600;

/**
 * Reads the key of the hub. The first call creates it; of several processes, the first one to store its key decides.
 * @param contact `mailto:` or `https:` URL of the operator, for push services.
 */
export async function loadVapidKey(db: Database, secrets: Secrets, contact: string): Promise<VapidKey> {
  const sealed = await db.system(async (tx) => {
    const read = () =>
      tx.select({ value: hubSettings.value }).from(hubSettings).where(eq(hubSettings.key, settingName));
    const [stored] = await read();
    if (stored !== undefined) return stored.value as string;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const value = secrets.seal(sealPurpose, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    await tx.insert(hubSettings).values({ key: settingName, value }).onConflictDoNothing();
    return (await read())[0]?.value as string;
  });
  return vapidKeyOf(createPrivateKey(secrets.open(sealPurpose, sealed)), contact);
}

function vapidKeyOf(privateKey: KeyObject, contact: string): VapidKey {
  const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' }) as { x: string; y: string };
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const publicKey = point.toString('base64url');
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return {
    publicKey,
    authorization(origin) {
      const exp = Math.floor(Date.now() / 1000) + tokenSeconds;
      const content = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode({ aud: origin, exp, sub: contact })}`;
      const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `vapid t=${content}.${signature.toString('base64url')}, k=${publicKey}`;
    },
  };
}
