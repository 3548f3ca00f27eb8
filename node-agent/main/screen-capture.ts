import { desktopCapturer, screen } from 'electron';
import { AppError } from './call-router.ts';

/** Has the desktop's own dialog choose which screen may be seen, as Wayland wants it. @throws AppError when the person refuses. */
export async function chooseScreen(): Promise<string> {
  const sources = await desktopCapturer
    .getSources({ types: ['screen'], thumbnailSize: { width: 0, height: 0 } })
    .catch(() => []);
  if (sources[0] === undefined)
    throw new AppError('permission_needed', 'Nobody chose a screen in the dialog of the desktop; choose one there.');
  return sources[0].id;
}

/**
 * A picture of a display as the app itself sees it.
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
  const source = sources.find(({ display_id: id }) => id === String(wanted.id)) ?? sources[display];
  if (source === undefined || source.thumbnail.isEmpty())
    throw new AppError(
      'permission_needed',
      'The system shows the app no screen; allow Outrigger Companion to record it.',
    );
  return format === 'png' ? source.thumbnail.toPNG() : source.thumbnail.toJPEG(quality);
}
