/**
 * The AppImage that contains a file of the running program. Null when none does, also when another AppImage started the
 * program, whose variables it inherits.
 */
export function appImageOf(file: string, { APPIMAGE, APPDIR }: NodeJS.ProcessEnv): string | null {
  const isInside = APPDIR !== undefined && APPDIR !== '' && file.startsWith(`${APPDIR.replace(/(?<!\/)\/+$/, '')}/`);
  return isInside && APPIMAGE !== undefined && APPIMAGE !== '' ? APPIMAGE : null;
}
