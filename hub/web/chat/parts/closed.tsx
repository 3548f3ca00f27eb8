import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { background } from '../../../../shared/web/background.ts';
import { canStillBeSent } from '../uploads.ts';
import { FileIcon, StarIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

/** The end of a closed conversation: the rating, unsent text and files, and the button for a new conversation. */
export function ClosedConversation({ chat, state, takesFocus }: PartProps & { takesFocus: boolean }) {
  const { language, settings, conversation, draft, uploads, chunks, hasOlder } = state;
  const { words } = language;
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);
  // A conversation without messages is not rated.
  const hasMessages =
    hasOlder || chunks.some(({ messages }) => messages.some(({ senderType }) => senderType !== 'system'));
  const startButton = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) startButton.current?.focus();
    // Runs only once, after the first render.
  }, []);
  const files = uploads.filter((upload) => canStillBeSent(upload) && upload.file !== null);
  const lostFiles = uploads.filter(({ file }) => file === null);
  const begin = async () => {
    setBusy(true);
    setFailure('');
    await chat.startNewConversation().catch(() => setFailure(words.failed));
    setBusy(false);
  };
  return (
    <section class="closed" aria-label={words.closed}>
      <p class="closing">{words.closed}</p>
      {settings?.ratings === true && hasMessages && conversation !== null && <Rating chat={chat} state={state} />}
      {(draft !== '' || files.length + lostFiles.length > 0) && (
        <div class="kept" role="group" tabIndex={0} aria-label={words.keptForNew}>
          {(draft !== '' || files.length > 0) && <p class="closing">{words.keptForNew}</p>}
          {draft !== '' && <p dir="auto">{draft}</p>}
          {files.map(({ key, name }) => (
            <p key={key} class="kept-file">
              <FileIcon />
              <bdi>{name}</bdi>
            </p>
          ))}
          {lostFiles.map(({ key, name }) => (
            <p key={key} class="kept-file failure">
              <FileIcon />
              <span>
                <bdi>{name}</bdi>: {words.fileFailed}
              </span>
            </p>
          ))}
        </div>
      )}
      <p class="failure" role="alert">
        {failure}
      </p>
      <button
        type="button"
        class="main"
        data-first
        ref={startButton}
        disabled={isBusy}
        onClick={() => background(begin())}
      >
        {words.newConversation}
      </button>
    </section>
  );
}

function Rating({ chat, state: { language, conversation } }: PartProps) {
  const { words, format } = language;
  const submitted = conversation?.rating ?? null;
  const [score, setScore] = useState(submitted?.score ?? 0);
  const [comment, setComment] = useState(submitted?.comment ?? '');
  const [isChanging, setChanging] = useState(submitted === null);
  const [failure, setFailure] = useState('');
  if (conversation?.ratingOffered !== true && submitted === null) return null;
  if (!isChanging)
    return (
      <div class="rated" role="status">
        <p>{words.thanks}</p>
        <p class="stars" role="img" aria-label={format(words.stars, { count: submitted?.score ?? score })}>
          {[1, 2, 3, 4, 5].map((star) => (
            <i key={star} class={star <= (submitted?.score ?? score) ? 'on' : ''}>
              <StarIcon />
            </i>
          ))}
        </p>
        {conversation?.ratingOffered === true && (
          <button type="button" class="link" onClick={() => setChanging(true)}>
            {words.changeRating}
          </button>
        )}
      </div>
    );
  const rate = async (event: Event) => {
    event.preventDefault();
    if (score === 0) return;
    setFailure('');
    try {
      await chat.rate(score, comment.trim());
      setChanging(false);
    } catch {
      setFailure(words.failed);
    }
  };
  return (
    <form class="rating" onSubmit={(event) => background(rate(event))}>
      <fieldset>
        <legend>{words.rate}</legend>
        <div class="stars">
          {[1, 2, 3, 4, 5].map((star) => (
            <label key={star} class={star <= score ? 'on' : ''}>
              <input
                type="radio"
                name="score"
                value={star}
                checked={star === score}
                aria-label={format(words.stars, { count: star })}
                onChange={() => setScore(star)}
              />
              <StarIcon />
            </label>
          ))}
        </div>
      </fieldset>
      {score > 0 && (
        <>
          <textarea
            aria-label={words.comment}
            placeholder={words.comment}
            rows={2}
            maxLength={2000}
            dir="auto"
            value={comment}
            onInput={({ currentTarget }) => setComment(currentTarget.value)}
          />
          <p class="failure" role="alert">
            {failure}
          </p>
          <button type="submit" class="second">
            {words.sendRating}
          </button>
        </>
      )}
    </form>
  );
}
