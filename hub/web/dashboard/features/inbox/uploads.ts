import type { ChatAttachment } from '../../../../../shared/client/operations.ts';
import { noteFailure } from '../../app/session-state.ts';
import type { DraftText } from './draft-text.ts';
import { uploadFile } from './files.ts';

/** Uploads the files of a conversation. They appear in the order in which the agent chose them. */
export class Uploads {
  readonly #params: { tenantId: string; id: string };
  readonly #order = new Map<string, number>();
  #chosen = 0;

  constructor(params: { tenantId: string; id: string }) {
    this.#params = params;
  }

  async start(
    files: readonly File[],
    {
      onChange,
      onFailure,
    }: { onChange: (by: (text: DraftText) => Partial<DraftText>) => void; onFailure: (error: unknown) => void },
  ): Promise<void> {
    const first = this.#chosen;
    this.#chosen += files.length;
    const orderOf = ({ id }: ChatAttachment) => this.#order.get(id) ?? 0;
    onChange(({ uploads }) => ({ uploads: uploads + files.length }));
    await Promise.all(
      files.map(async (file, index) => {
        try {
          const attachment = await uploadFile(this.#params, file);
          this.#order.set(attachment.id, first + index);
          onChange((text) => ({
            files: [...text.files, attachment].toSorted((one, other) => orderOf(one) - orderOf(other)),
          }));
        } catch (error) {
          noteFailure(error);
          onFailure(error);
        } finally {
          onChange(({ uploads }) => ({ uploads: uploads - 1 }));
        }
      }),
    );
  }
}
