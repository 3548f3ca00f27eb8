import { ApiError } from '../../../../shared/client/client.ts';

/** Whether the path of a problem is a field of the body or a part of that field. */
export const isWithin = (path: string, field: string) =>
  path === `body.${field}` || path.startsWith(`body.${field}.`) || path.startsWith(`body.${field}[`);

/** Finds what the hub says about a field of the body, such as `models[0].id`, or about a part of that field. */
export function fieldErrors(error: unknown): (path: string) => string | null {
  const details = error instanceof ApiError ? error.details : [];
  return (path) => {
    const whole = `body.${path}`;
    const own = details.filter((each) => each.path === whole);
    const shown = own.length > 0 ? own : details.filter((each) => isWithin(each.path, path));
    const texts = shown.map((detail) => {
      const part = detail.path.slice(whole.length).replace(/^\./, '');
      if (part === '') return detail.message;
      const item = /^\[(\d+)\]$/.exec(part)?.[1];
      return `${item === undefined ? part : Number(item) + 1}: ${detail.message}`;
    });
    return texts.length === 0 ? null : texts.join('; ');
  };
}
