import { useSyncExternalStore } from 'react';

/** Whether a media query matches, such as the width of the window. */
export function useMediaQuery(text: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(text);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(text).matches,
  );
}
