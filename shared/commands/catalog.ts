import type { z } from 'zod';
import {
  browserCheck,
  browserClick,
  browserHover,
  browserPress,
  browserScroll,
  browserSelect,
  browserType,
  browserUpload,
  browserWaitFor,
} from './browser-actions.ts';
import { browserClose, browserPages, browserSwitch } from './browser-pages.ts';
import {
  browserBack,
  browserContent,
  browserEvaluate,
  browserNavigate,
  browserReload,
  browserScreenshot,
} from './browser.ts';
import { captureAudio, captureCamera, captureScreen } from './capture.ts';
import { filesList, filesRead } from './files.ts';
import { ping } from './ping.ts';
import { systemRun } from './system.ts';

/** All commands of companion nodes, by type. */
export const commands = {
  [ping.type]: ping,
  [captureScreen.type]: captureScreen,
  [captureCamera.type]: captureCamera,
  [captureAudio.type]: captureAudio,
  [filesList.type]: filesList,
  [filesRead.type]: filesRead,
  [systemRun.type]: systemRun,
  [browserNavigate.type]: browserNavigate,
  [browserScreenshot.type]: browserScreenshot,
  [browserClick.type]: browserClick,
  [browserType.type]: browserType,
  [browserEvaluate.type]: browserEvaluate,
  [browserContent.type]: browserContent,
  [browserSelect.type]: browserSelect,
  [browserCheck.type]: browserCheck,
  [browserPress.type]: browserPress,
  [browserHover.type]: browserHover,
  [browserScroll.type]: browserScroll,
  [browserUpload.type]: browserUpload,
  [browserWaitFor.type]: browserWaitFor,
  [browserBack.type]: browserBack,
  [browserReload.type]: browserReload,
  [browserPages.type]: browserPages,
  [browserSwitch.type]: browserSwitch,
  [browserClose.type]: browserClose,
};

export type Commands = typeof commands;
export type CommandType = keyof Commands;

/** Parsed input of a command handler. */
export type CommandInput<Type extends CommandType> = z.output<Commands[Type]['input']>;
/** Reply of the device to a successful command. */
export type CommandReply<Type extends CommandType> = z.input<Commands[Type]['reply']>;

/** Whether a text is the type of a command. */
export function isCommandType(type: string): type is CommandType {
  return Object.hasOwn(commands, type);
}
