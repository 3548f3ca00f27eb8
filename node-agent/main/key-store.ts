import { app, safeStorage } from 'electron';
import { AppError } from './call-router.ts';
import { hasOwnerOnBus } from './session-bus.ts';

const names: Record<string, string> = {
  gnome_libsecret: 'the keyring (Secret Service)',
  kwallet: 'KWallet',
  kwallet5: 'KWallet',
  kwallet6: 'KWallet',
};

/** The asynchronous interface of Electron, which older versions lack. */
type AsyncStorage = Partial<
  Pick<Electron.SafeStorage, 'encryptStringAsync' | 'decryptStringAsync' | 'isAsyncEncryptionAvailable'>
>;
const asyncStorage = safeStorage as AsyncStorage;

/**
 * Chromium selects a key store by the name of the desktop. On other desktops, this selects the Secret Service if it is
 * available. Call it before the app is ready.
 */
export async function chooseKeyStore(): Promise<void> {
  if (process.platform !== 'linux' || app.commandLine.hasSwitch('password-store')) return;
  const isKnown = /gnome|kde|unity|xfce|cinnamon|deepin|pantheon|ukui|mate/i.test(
    process.env['XDG_CURRENT_DESKTOP'] ?? '',
  );
  if (!isKnown && (await hasOwnerOnBus('org.freedesktop.secrets')) === true)
    app.commandLine.appendSwitch('password-store', 'gnome-libsecret');
}

/** Display name of the system's key store. Null if there is no secure key store. */
export async function keyStoreName(): Promise<string | null> {
  try {
    const isAvailable =
      asyncStorage.isAsyncEncryptionAvailable === undefined
        ? safeStorage.isEncryptionAvailable()
        : await safeStorage.isAsyncEncryptionAvailable();
    if (!isAvailable) return null;
  } catch {
    return null;
  }
  if (process.platform === 'darwin') return 'the keychain';
  if (process.platform === 'win32') return "the system's data protection (DPAPI)";
  return names[safeStorage.getSelectedStorageBackend()] ?? null;
}

export async function seal(text: string): Promise<string> {
  const sealed =
    asyncStorage.encryptStringAsync === undefined
      ? safeStorage.encryptString(text)
      : await safeStorage.encryptStringAsync(text);
  return sealed.toString('base64');
}

/** @throws AppError when the key store cannot decrypt the text, for example after it was reset. */
export async function unseal(sealed: string): Promise<string> {
  const bytes = Buffer.from(sealed, 'base64');
  try {
    if (asyncStorage.decryptStringAsync === undefined) return safeStorage.decryptString(bytes);
    return (await safeStorage.decryptStringAsync(bytes)).result;
  } catch {
    throw new AppError(
      'key_store',
      "The system's key store could not decrypt the secret. Unlock it and restart the app, or pair this machine again.",
    );
  }
}
