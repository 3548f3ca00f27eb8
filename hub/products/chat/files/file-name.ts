const maxNameLength = 200;

/** Characters that have no place in a name, can't be seen, or turn it around for whoever reads it. */
const unwanted = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb<>:"|?*]/gu;

/**
 * A file's name as it is kept: without folders, and ending as what the file is, so that nobody's computer takes it for
 * something else.
 */
export function plainName(given: string, extensions: readonly [string, ...string[]]): string {
  const last = given.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const name =
    last
      .replaceAll(unwanted, '')
      .replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, '')
      .trim() || 'file';
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase();
  const isRight = extension !== undefined && extensions.includes(extension);
  const end = isRight ? name.slice(name.length - extension.length - 1) : `.${extensions[0]}`;
  const stem = isRight ? name.slice(0, name.length - end.length) : name;
  return `${[...stem].slice(0, maxNameLength - end.length).join('')}${end}`;
}
