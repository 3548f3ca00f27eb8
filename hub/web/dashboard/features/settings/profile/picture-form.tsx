import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError } from '../../../../../../shared/client/client.ts';
import { fetchAsUser, keyOf, useAction } from '../../../app/api.ts';
import type { Answer } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';
import { Section } from '../../../ui/layout.tsx';
import { MemberPicture } from '../parts/member-picture.tsx';

/** The body is the file, so the client, which sends JSON, cannot send it. @throws ApiError */
async function upload(file: File): Promise<Answer<'putMyPicture'>> {
  const response = await fetchAsUser('/auth/me/picture', {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: file,
  });
  const body = (await response.json()) as Answer<'putMyPicture'>;
  if (!response.ok) throw new ApiError(response.status, body as object);
  return body;
}

export function PictureForm({ user }: { user: Answer<'readMe'>['user'] }) {
  const { settings } = useWords();
  const cache = useQueryClient();
  const file = useRef<HTMLInputElement>(null);
  const setPicture = (picture: string | null) =>
    cache.setQueryData<Answer<'readMe'>>(keyOf('readMe'), (me) => me && { ...me, user: { ...me.user, picture } });
  const put = useMutation({ mutationFn: upload, onSuccess: ({ picture }) => setPicture(picture) });
  const remove = useAction('deleteMyPicture', { onDone: () => setPicture(null) });
  return (
    <Section title={settings.profile.picture}>
      <div className="flex flex-wrap items-center gap-4">
        <MemberPicture person={user} size="large" />
        <div className="flex flex-wrap gap-2">
          <input
            ref={file}
            type="file"
            accept="image/png,image/jpeg,image/webp"
            aria-label={settings.profile.choosePicture}
            className="sr-only"
            tabIndex={-1}
            onChange={(event) => {
              const chosen = event.target.files?.[0];
              if (chosen !== undefined) put.mutate(chosen);
              event.target.value = '';
            }}
          />
          <Button isBusy={put.isPending} onClick={() => file.current?.click()}>
            {settings.profile.choosePicture}
          </Button>
          {user.picture !== null && (
            <Button isBusy={remove.isPending} onClick={() => remove.start()}>
              {settings.profile.removePicture}
            </Button>
          )}
        </div>
        <p className="w-full text-sm text-text-muted">{settings.profile.pictureHint}</p>
      </div>
      <ErrorNote error={put.error ?? remove.error} />
    </Section>
  );
}
