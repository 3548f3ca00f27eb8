import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { pictureUrl } from '../api.ts';

const initialsOf = (name: string) =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => Array.from(word)[0] ?? '')
    .join('')
    .toLocaleUpperCase();

interface PortraitProps {
  name: string | null;
  /** Path of the picture on the hub. */
  picture: string | null;
  /** Shown without a picture and without a name. */
  fallback: ComponentChildren;
}

/** Shows the picture of an agent, or the initials if there is no picture or it cannot be loaded. */
export function Portrait({ name, picture, fallback }: PortraitProps) {
  const [failed, setFailed] = useState<string | null>(null);
  if (picture !== null && picture !== failed)
    return <img src={pictureUrl(picture)} alt="" draggable={false} onError={() => setFailed(picture)} />;
  return <>{name === null || name === '' ? fallback : initialsOf(name)}</>;
}
