import { common as english } from '../english/common.ts';

export const common: typeof english = english;
