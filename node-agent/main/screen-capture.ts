import { desktopCapturer, screen } from 'electron';
import { AppError } from './call-router.ts';

/**
 * A picture of a display as the app itself sees it. On Wayland the desktop asks the person which screen may be seen: Electron asks it for each picture
 * and keeps no word of it over a restart.
 * @throws AppError when there is no such display, or the system shows nothing.
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
  // Where the desktop lets the person choose, there is one source and no number of a display.
  const source =
    sources.find(({ display_id: id }) => id === String(wanted.id)) ?? sources[sources.length === 1 ? 0 : display];
  if (source === undefined || source.thumbnail.isEmpty())
    throw new AppError(
      'permission_needed',
      'The system shows the app no screen; allow Outrigger Companion to record it.',
    );
  return format === 'png' ? source.thumbnail.toPNG() : source.thumbnail.toJPEG(quality);
}
