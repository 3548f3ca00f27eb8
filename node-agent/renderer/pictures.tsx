import { useEffect, useRef, useState } from 'react';
import type { HistoryEntry } from '../../shared/companion/state.ts';
import { useStore } from './companion-context.tsx';
import type { CompanionStore } from './companion-store.ts';
import { Line } from './controls.tsx';
import { Modal } from './modal.tsx';
import { dateTimeOf, describeType } from './words.ts';

interface Encoded {
  contentType: string;
  base64: string;
}

/** Content types that are shown as pictures. Other types are rejected. */
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/webp']);
const maxCachedPictures = 60;

/** Creates an object URL for a picture. The caller must revoke it. @throws TypeError for other content types. */
function objectUrlOf({ contentType, base64 }: Encoded): string {
  if (!pictureTypes.has(contentType)) throw new TypeError(`A picture can't be of the type ${contentType}.`);
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: contentType }));
}

/** Cache of object URLs by command id, least recently used first. */
const pictureUrls = new Map<string, Promise<string>>();

function pictureOf(store: CompanionStore, commandId: string): Promise<string> {
  const known = pictureUrls.get(commandId) ?? store.call('picture', { commandId }).then(objectUrlOf);
  pictureUrls.delete(commandId);
  pictureUrls.set(commandId, known);
  known.catch(() => pictureUrls.delete(commandId));
  for (const [id, address] of pictureUrls) {
    if (pictureUrls.size <= maxCachedPictures) break;
    pictureUrls.delete(id);
    address.then(URL.revokeObjectURL, () => undefined);
  }
  return known;
}

type PicturedEntry = Pick<HistoryEntry, 'commandId' | 'time' | 'type'>;

/** The picture of a command. It loads when it becomes visible and opens larger on click. */
export function Thumbnail({ entry, isLarge = false }: { entry: PicturedEntry; isLarge?: boolean }) {
  const store = useStore();
  const button = useRef<HTMLButtonElement>(null);
  const [address, setAddress] = useState<string | null>(null);
  const [isMissing, setMissing] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const element = button.current;
    if (element === null) return undefined;
    let isDisposed = false;
    const observer = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting !== true) return;
      observer.disconnect();
      pictureOf(store, entry.commandId).then(
        (found) => isDisposed || setAddress(found),
        () => isDisposed || setMissing(true),
      );
    });
    observer.observe(element);
    return () => {
      isDisposed = true;
      observer.disconnect();
    };
  }, [store, entry.commandId]);
  const open = () => {
    setOpen(true);
    // The cache may have revoked the object URL.
    pictureOf(store, entry.commandId).then(setAddress, () => setMissing(true));
  };
  if (isMissing) return <span className={`thumbnail gone ${isLarge ? 'large' : ''}`}>No longer stored</span>;
  return (
    <>
      <button
        ref={button}
        type="button"
        className={`thumbnail ${isLarge ? 'large' : ''}`}
        aria-label={`Show the picture that was sent at ${dateTimeOf(entry.time)}`}
        disabled={address === null}
        onClick={open}
      >
        {address !== null && <img src={address} alt="" onError={() => setMissing(true)} />}
      </button>
      <Modal isOpen={isOpen} title={<Line text={describeType(entry.type)} />} onClose={() => setOpen(false)} isWide>
        <p className="hint">Sent to the hub on {dateTimeOf(entry.time)}</p>
        {address !== null && <img className="picture" src={address} alt="The picture as it was sent" />}
      </Modal>
    </>
  );
}

/** A picture from the result of a check. */
export function InlinePicture({ picture, alt }: { picture: Encoded; alt: string }) {
  const { contentType, base64 } = picture;
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    let objectUrl: string | null = null;
    try {
      objectUrl = objectUrlOf({ contentType, base64 });
    } catch {
      // The content is not a picture. The text beside it describes the result.
    }
    setAddress(objectUrl);
    return () => {
      if (objectUrl !== null) URL.revokeObjectURL(objectUrl);
    };
  }, [contentType, base64]);
  return address === null ? null : <img className="frame" src={address} alt={alt} />;
}
