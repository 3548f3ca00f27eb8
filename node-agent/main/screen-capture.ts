import { desktopCapturer, screen } from 'electron';
import { AppError } from './call-router.ts';

/** Asks the owner for a screen with the dialog of the desktop, as Wayland requires. @throws AppError when refused. */
export async function chooseScreen(): Promise<string> {
  const sources = await desktopCapturer
    .getSources({ types: ['screen'], thumbnailSize: { width: 0, height: 0 } })
    .catch(() => []);
  if (sources[0] === undefined)
    throw new AppError('permission_needed', 'No screen was chosen in the dialog of the desktop. Choose one there.');
  return sources[0].id;
}

/**
 * Captures a display in this process.
 * @throws AppError when there is no such display or the system denies access.
 */
export async function captureDisplay(display: number, format: 'png' | 'jpeg', quality: number): Promise<Buffer> {
  const displays = screen
    .getAllDisplays()
    .toSorted((one, other) => one.bounds.x - other.bounds.x || one.bounds.y - other.bounds.y);
  const primary = screen.getPrimaryDisplay();
  const ordered = [primary, ...displays.filter(({ id }) => id !== primary.id)];
  const wanted = ordered[display];
  if (wanted === undefined)
    throw new AppError(
      'not_found',
      `There is no display ${display}; this machine has ${ordered.length}, counted from 0.`,
    );
  const size = {
    width: Math.round(wanted.size.width * wanted.scaleFactor),
    height: Math.round(wanted.size.height * wanted.scaleFactor),
  };
  const sources = await desktopCapturer.getSources({ types: ['screen'], thumbnailSize: size });
  const source = sources.find(({ display_id: id }) => id === String(wanted.id)) ?? sources[display];
  if (source === undefined || source.thumbnail.isEmpty())
    throw new AppError(
      'permission_needed',
      'The system denies access to the screen. Allow Outrigger Companion to record it.',
    );
  return format === 'png' ? source.thumbnail.toPNG() : source.thumbnail.toJPEG(quality);
}
