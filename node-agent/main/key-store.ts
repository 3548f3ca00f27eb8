import { app, safeStorage } from 'electron';
import { AppError } from './call-router.ts';
import { hasOwnerOnBus } from './session-bus.ts';

const names: Record<string, string> = {
  gnome_libsecret: 'the keyring (Secret Service)',
  kwallet: 'KWallet',
  kwallet5: 'KWallet',
  kwallet6: 'KWallet',
};

/** The newer half of Electron's interface, which older runtimes lack. */
type AsyncStorage = Partial<
  Pick<Electron.SafeStorage, 'encryptStringAsync' | 'decryptStringAsync' | 'isAsyncEncryptionAvailable'>
>;
const newer = safeStorage as AsyncStorage;

/** Chromium knows key stores by the names of desktops; on others it is told of the one that answers. Before the app is ready. */
export async function chooseKeyStore(): Promise<void> {
  if (process.platform !== 'linux' || app.commandLine.hasSwitch('password-store')) return;
  const isKnown = /gnome|kde|unity|xfce|cinnamon|deepin|pantheon|ukui|mate/i.test(
    process.env['XDG_CURRENT_DESKTOP'] ?? '',
  );
  if (!isKnown && (await hasOwnerOnBus('org.freedesktop.secrets')))
    app.commandLine.appendSwitch('password-store', 'gnome-libsecret');
}

/** Name of the system's key store as its user knows it; null where there is none that keeps anything safe. */
export async function keyStoreName(): Promise<string | null> {
  try {
    const isThere =
      newer.isAsyncEncryptionAvailable === undefined
        ? safeStorage.isEncryptionAvailable()
        : await safeStorage.isAsyncEncryptionAvailable();
    if (!isThere) return null;
  } catch {
    return null;
  }
  if (process.platform === 'darwin') return 'the keychain';
  if (process.platform === 'win32') return "the system's data protection (DPAPI)";
  return names[safeStorage.getSelectedStorageBackend()] ?? null;
}

export async function seal(text: string): Promise<string> {
  const sealed =
    newer.encryptStringAsync === undefined
      ? safeStorage.encryptString(text)
      : await safeStorage.encryptStringAsync(text);
  return sealed.toString('base64');
}

/** @throws AppError when the key store has no key for it, such as after it was reset. */
export async function unseal(sealed: string): Promise<string> {
  const bytes = Buffer.from(sealed, 'base64');
  try {
    if (newer.decryptStringAsync === undefined) return safeStorage.decryptString(bytes);
    return (await safeStorage.decryptStringAsync(bytes)).result;
  } catch {
    throw new AppError(
      'key_store',
      "The system's key store does not open what it sealed; unlock it and start the app again, or pair this machine anew.",
    );
  }
}
