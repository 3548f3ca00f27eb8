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

/** What a page may show as a picture; whatever else comes is none. */
const shownTypes = new Set(['image/png', 'image/jpeg', 'image/webp']);
const mostKept = 60;

/** An address of the picture within this page; whoever made it revokes it. @throws when it is none. */
function addressOf({ contentType, base64 }: Encoded): string {
  if (!shownTypes.has(contentType)) throw new TypeError(`A picture can't be of the type ${contentType}.`);
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: contentType }));
}

/** Addresses by command, least recently asked for first; the pages ask for the same ones again and again. */
const kept = new Map<string, Promise<string>>();

function pictureOf(store: CompanionStore, commandId: string): Promise<string> {
  const known = kept.get(commandId) ?? store.call('picture', { commandId }).then(addressOf);
  kept.delete(commandId);
  kept.set(commandId, known);
  known.catch(() => kept.delete(commandId));
  for (const [id, address] of kept) {
    if (kept.size <= mostKept) break;
    kept.delete(id);
    address.then(URL.revokeObjectURL, () => undefined);
  }
  return known;
}

/** The picture that a command sent, once it is in sight; it opens larger. */
export function Thumbnail({ entry, isLarge = false }: { entry: HistoryEntry; isLarge?: boolean }) {
  const store = useStore();
  const place = useRef<HTMLButtonElement>(null);
  const [address, setAddress] = useState<string | null>(null);
  const [isGone, setGone] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let isOver = false;
    const observer = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting !== true) return;
      observer.disconnect();
      pictureOf(store, entry.commandId).then(
        (found) => isOver || setAddress(found),
        () => isOver || setGone(true),
      );
    });
    observer.observe(element);
    return () => {
      isOver = true;
      observer.disconnect();
    };
  }, [store, entry.commandId]);
  const open = () => {
    setOpen(true);
    // Its address may be given up by now.
    pictureOf(store, entry.commandId).then(setAddress, () => setGone(true));
  };
  if (isGone) return <span className={`thumbnail gone ${isLarge ? 'large' : ''}`}>Not kept any more</span>;
  return (
    <>
      <button
        ref={place}
        type="button"
        className={`thumbnail ${isLarge ? 'large' : ''}`}
        aria-label={`Show the picture that was sent at ${dateTimeOf(entry.time)}`}
        disabled={address === null}
        onClick={open}
      >
        {address !== null && <img src={address} alt="" onError={() => setGone(true)} />}
      </button>
      <Modal isOpen={isOpen} title={<Line text={describeType(entry.type)} />} onClose={() => setOpen(false)} isWide>
        <p className="hint">Sent to the hub on {dateTimeOf(entry.time)}</p>
        {address !== null && <img className="picture" src={address} alt="The picture as it was sent" />}
      </Modal>
    </>
  );
}

/** A picture that came with an answer. */
export function InlinePicture({ picture, alt }: { picture: Encoded; alt: string }) {
  const { contentType, base64 } = picture;
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    let made: string | null = null;
    try {
      made = addressOf({ contentType, base64 });
    } catch {
      // Not a picture: its text beside it says what was found.
    }
    setAddress(made);
    return () => {
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [contentType, base64]);
  return address === null ? null : <img className="frame" src={address} alt={alt} />;
}
