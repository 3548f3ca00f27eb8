/** The AppImage that holds a file of the program that runs; null where none does, also where another AppImage started it, whose variables it inherits. */
export function appImageOf(file: string, { APPIMAGE, APPDIR }: NodeJS.ProcessEnv): string | null {
  const isInside = APPDIR !== undefined && APPDIR !== '' && file.startsWith(`${APPDIR.replace(/(?<!\/)\/+$/, '')}/`);
  return isInside && APPIMAGE !== undefined && APPIMAGE !== '' ? APPIMAGE : null;
}
